import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, readSteps } from '@petstore/server/test-support';
import { describe, expect, test } from 'vitest';
import { ALERTS, runbookOf } from '../src/alerts.ts';
import { parseQuery } from './support/promql.ts';

const RUNBOOK = join(ROOT, 'docs/runbook');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

describe.each(ALERTS)('$name ($severity)', (alert) => {
  test('says what it means, and how much', () => {
    expect(alert.summary).toMatch(/^[A-Z].{10,80}\.$/);
    const texts = `${alert.summary} ${alert.description}`;
    // Of a server that cannot be reached there is no value, and of the label that names it there is.
    expect(texts).toMatch(/\{\{ \$value|\{\{ \$labels\.instance|two minutes/);
  });

  test('is held back by alerts alone that come before it and are as severe', () => {
    const { selectors } = parseQuery(alert.expression);
    const causes = selectors
      .filter(({ metric }) => metric === 'ALERTS')
      .flatMap(({ matchers }) => matchers.filter(({ label }) => label === 'alertname'))
      .flatMap(({ value }) => value.split('|'));
    for (const cause of causes) {
      const index = ALERTS.findIndex(({ name }) => name === cause);
      expect(index, cause).not.toBe(-1);
      expect(index, cause).toBeLessThan(ALERTS.indexOf(alert));
      if (alert.severity === 'page') expect(ALERTS[index]?.severity, cause).toBe('page');
    }
  });

  test('has a page in the runbook, with commands that are run by a test', () => {
    const page = read(runbookOf(alert));
    expect(page.startsWith(`# ${alert.name}\n`)).toBe(true);
    expect(page.match(/^## .*/gm)).toEqual(['## Diagnosis', '## Mitigation']);
    const commands = page.match(/^\$ .*/gm) ?? [];
    expect(readSteps(runbookOf(alert)).length).toBe(commands.length);
    expect(commands.length).toBeGreaterThan(0);
  });
});

test('each page of the runbook belongs to an alert', () => {
  const pages = readdirSync(RUNBOOK).filter((name) => name !== 'README.md');
  expect(pages.toSorted()).toEqual([...new Set(ALERTS.map((alert) => runbookOf(alert).split('/').at(-1)))].toSorted());
});

/** As GitHub makes them of headings. */
const anchorsOf = (markdown: string) =>
  [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

test('what the runbook links to is there', () => {
  const broken = readdirSync(RUNBOOK).flatMap((name) => {
    const links = [...readFileSync(join(RUNBOOK, name), 'utf8').matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)];
    return links.flatMap(([link, path = '', anchor]) => {
      const target = path === '' ? join(RUNBOOK, name) : join(RUNBOOK, path);
      if (!existsSync(target)) return [`${name}: ${link}`];
      if (anchor === undefined) return [];
      return anchorsOf(readFileSync(target, 'utf8')).includes(anchor) ? [] : [`${name}: ${link}`];
    });
  });
  expect(broken).toEqual([]);
});
