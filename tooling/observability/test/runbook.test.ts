import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ROOT } from '@petstore/server/test-support';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { ALERTS } from './support/committed-files.ts';

const RUNBOOK = join(ROOT, 'docs/runbook');
const read = (page: string) => readFileSync(join(RUNBOOK, page), 'utf8');
const PAGES = readdirSync(RUNBOOK);
const INDEX = read('README.md');

test.each(ALERTS)('$alert ($labels.severity) has a page, which explains it and says what to do', (alert) => {
  const page = basename(alert.annotations.runbook_url);
  expect(alert.annotations.runbook_url).toBe(`docs/runbook/${page}`);
  expect(read(page).match(/^##? .*/gm)).toEqual([`# ${alert.alert}`, '## Diagnosis', '## Mitigation']);
});

test('the list of the runbook holds each alert as its rule has it, and each page belongs to one', () => {
  const rows = ALERTS.map(({ alert, annotations, labels, for: time }) => {
    const page = basename(annotations.runbook_url);
    return `| [${alert}](${page}) | ${labels.severity} | ${time} |`;
  });
  expect(INDEX.match(/^\| \[Petstore.*/gm)).toEqual(rows);
  const pages = ALERTS.map(({ annotations }) => basename(annotations.runbook_url));
  expect(PAGES.toSorted()).toEqual(['README.md', ...new Set(pages)].toSorted());
});

/** As GitHub makes them of headings. */
const anchorsOf = (markdown: string) =>
  Array.from(markdown.matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

test.each(PAGES)('what %s links to is there', (page) => {
  const links = [...read(page).matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)];
  const broken = links.filter(([, path = '', anchor]) => {
    const target = join(RUNBOOK, path || page);
    return !existsSync(target) || (anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor));
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

const deployed = (file: string): string => readFileSync(join(ROOT, 'deploy', file), 'utf8');
/** What the commands of the index name, by a pattern with one group. */
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
