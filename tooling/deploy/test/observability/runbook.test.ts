import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@petstore/server/test-support/documentation';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { ALERTS, RUNBOOK, RUNBOOK_FILE, SECTIONS, sectionOf } from './support/committed-files.ts';

/** As GitHub makes it of a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

test.each(ALERTS)('$alert ($labels.severity) has a section, which explains it and says what to do', (alert) => {
  expect(alert.annotations.runbook_url).toBe(`${RUNBOOK_FILE}#${anchorOf(alert.alert)}`);
  expect(sectionOf(alert.alert).match(/^### .*/gm)).toEqual(['### Diagnosis', '### Mitigation']);
});

test('each section of the runbook belongs to an alert', () => {
  expect([...SECTIONS.keys()]).toEqual([...new Set(ALERTS.map(({ alert }) => alert))]);
});

test('what the runbook links to is there', () => {
  const links = [...RUNBOOK.matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)];
  const anchorsOf = (markdown: string) =>
    Array.from(markdown.matchAll(/^#+ (.*)$/gm), ([, heading = '']) => anchorOf(heading));
  const broken = links.filter(([, path, anchor]) => {
    const target = path ? join(ROOT, 'docs', path) : join(ROOT, RUNBOOK_FILE);
    return !existsSync(target) || (anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor));
  });
  expect(broken.map(([link]) => link)).toEqual([]);
  expect(links.length).toBeGreaterThan(30);
});

const deployed = (file: string): string => readFileSync(join(ROOT, 'deploy', file), 'utf8');
/** What the commands of the runbook name, by a pattern with one group. */
const named = (pattern: RegExp) => Array.from(RUNBOOK.matchAll(pattern), ([, name]) => name);

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

test('the runbook runs the command line where systemd has it, with the files that its unit has', () => {
  const [command] = named(/`(DATABASE_URL_FILE=.*petstore\.js)`/g);
  expect(command).toContain('_FILE=');
  const unit = deployed('systemd/petstore.service');
  for (const [, file] of command?.matchAll(/_FILE=(\S+)/g) ?? []) expect(unit).toContain(`:${file}\n`);
});
