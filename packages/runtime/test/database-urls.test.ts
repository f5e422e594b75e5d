import { expect, test } from 'vitest';
import { parseDatabaseUrls } from '../src/settings/database-urls.ts';

test.each([
  ['postgres://u:p@db/x', ['postgres://u:p@db/x']],
  ['postgresql://u:p@ss@db:5433/x?sslmode=verify-full', ['postgresql://u:p@ss@db:5433/x?sslmode=verify-full']],
  ['postgres://a:1,b:2/x', ['postgres://a:1/x', 'postgres://b:2/x']],
  [
    'postgres://u:p@a,b,[::1]:5/x?target_session_attrs=read-write&application_name=shop',
    ['a', 'b', '[::1]:5'].map((place) => `postgres://u:p@${place}/x?application_name=shop`),
  ],
  ['postgres://u@/x?host=a,b&port=1,2', ['postgres://u@a:1/x', 'postgres://u@b:2/x']],
  ['postgres:///x?host=a,b&port=5433', ['postgres://a:5433/x', 'postgres://b:5433/x']],
  ['postgres://u:p@/x?host=/run/postgresql', ['postgres://u:p@localhost/x?host=%2Frun%2Fpostgresql']],
  ['postgres://u@%2Frun%2Fpg:5433/x', ['postgres://u@localhost:5433/x?host=%2Frun%2Fpg']],
  ['postgres://u@/x', ['postgres://u@localhost/x']],
])('%s leads to %j', (text, urls) => {
  expect(parseDatabaseUrls(text)).toEqual(urls);
});

test.each([
  'mysql://db/x',
  'db',
  'postgres://a:1,b:2:3/x',
  'postgres://a:0/x',
  'postgres://a:65536/x',
  'postgres://a,,b/x',
  'postgres://a b/x',
  'postgres://[::1/x',
  'postgres://a%2Fb/x',
  'postgres:///x?host=a,b&port=1,2,3',
  'postgres:///x?host=a&port=http',
  'postgres://a,b/x?target_session_attrs=standby',
  'postgres://a,b/x?target_session_attrs=prefer-standby',
  'postgres://u:abc%de1@a/x',
  'postgres://u%ff:p@a/x',
  'postgres://a/sh%ffop',
])('%s is no address of a database that takes writes', (text) => {
  expect(parseDatabaseUrls(text)).toBeUndefined();
});
