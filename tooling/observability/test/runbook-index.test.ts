import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@petstore/server/test-support';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { renderRunbookIndex } from '../src/runbook-index.ts';

const INDEX = renderRunbookIndex();
const deployed = (file: string): string => readFileSync(join(ROOT, 'deploy', file), 'utf8');
/** What the commands of the page name, by a pattern with one group. */
const named = (pattern: RegExp) => Array.from(INDEX.matchAll(pattern), ([, name]) => name);

test('the runbook runs the command line where Compose has it', () => {
  const { services } = parse(deployed('compose.yaml'));
  expect(named(/exec -T (\w+)/g)).toEqual(Object.keys(services));
  expect(services.petstore.ports).toContain('127.0.0.1:3001:3001');
  expect(services.postgres.environment).toMatchObject({ POSTGRES_USER: 'petstore', POSTGRES_DB: 'petstore' });
});

test('the runbook runs the command line where Kubernetes has it', () => {
  const objects = parseAllDocuments(deployed('kubernetes/deployment.yaml')).map((document) => document.toJS());
  const deployment = objects.find(({ kind }) => kind === 'Deployment');
  expect(named(/kubectl [a-z-]+ deploy\/(\w+)/g)).toEqual(Array(2).fill(deployment.metadata.name));
  const [{ ports }] = deployment.spec.template.spec.containers;
  expect(ports).toContainEqual({ name: 'admin', containerPort: 3001 });
  const image = deployed('Dockerfile');
  expect(named(/(\S+) petstore\.js/g).slice(-2)).toEqual(Array(2).fill('/usr/local/bin/node'));
  expect(image).toMatch(/^COPY --from=build \/usr\/local\/bin\/node \/usr\/local\/bin\/node$/m);
  expect(image).toMatch(/^WORKDIR \/petstore$/m);
});

test('the runbook runs the command line where systemd has it, as the page on deploying does', () => {
  const [command] = named(/`(DATABASE_URL_FILE=.*petstore\.js)`/g);
  expect(deployed('README.md')).toContain(`${command} keys list`);
  const unit = deployed('systemd/petstore.service');
  for (const [, file] of command?.matchAll(/_FILE=(\S+)/g) ?? []) expect(unit).toContain(`:${file}\n`);
  expect(deployed('systemd/petstore@.service')).toContain('ADMIN_PORT=300%i');
});
