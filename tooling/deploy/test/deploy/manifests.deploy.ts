import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { ROOT } from '../../src/build-folder.ts';
import { useBuiltFolder } from '../support/built-folder.ts';
import { Program } from '../support/program.ts';

const DEPLOY = join(ROOT, 'deploy');
const KUBERNETES = join(DEPLOY, 'kubernetes');
/** Where the compiler finds what this package has installed. */
const WORK = join(import.meta.dirname, '../../node_modules/.cache');

/** A manifest; the rest of its form is checked below. */
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  // biome-ignore lint/suspicious/noExplicitAny: of each kind another one
  readonly [field: string]: any;
}

const readAll = (file: string): readonly Manifest[] =>
  parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS({}));

const manifests = globSync(join(KUBERNETES, '**/*.yaml'))
  .sort()
  .flatMap(readAll)
  .filter(({ kind }) => kind !== 'Kustomization');
const kustomizations = globSync(join(KUBERNETES, '**/kustomization.yaml')).map((file) =>
  parse(readFileSync(file, 'utf8')),
);

function find(kind: string): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind);
  if (found === undefined) throw new Error(`There is no ${kind}.`);
  return found;
}

/** `NAME=value` lines, comments left out. */
const readPairs = (lines: readonly string[]): Record<string, string> =>
  Object.fromEntries(lines.filter((line) => /^\w+=/.test(line)).map((line) => line.split(/=(.*)/s, 2)));

const podSettings = readPairs(
  kustomizations.flatMap(({ configMapGenerator = [] }) => configMapGenerator[0]?.literals ?? []),
);
const seconds = (text: string | undefined) => Number(/^(\d+)s$/.exec(text ?? '')?.[1]);

/**
 * Has the compiler compare manifests with Kubernetes' types. It knows of a field that there is not, which the schemas let
 * pass.
 *
 * @returns what is wrong
 */
function findUnknownFields(of: readonly Manifest[]): string {
  const file = join(WORK, 'manifests.ts');
  const constants = of.map((manifest, i) => {
    const type = `import('kubernetes-models/${manifest.apiVersion}').I${manifest.kind}`;
    return `export const manifest${i}: ${type} = ${JSON.stringify(manifest, undefined, 1)};\n`;
  });
  mkdirSync(WORK, { recursive: true });
  writeFileSync(file, constants.join(''));
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', ''];
  return spawnSync('tsc', [...options, file], { cwd: WORK, encoding: 'utf8' }).stdout;
}

describe('the manifests for Kubernetes', () => {
  test('have the form that Kubernetes asks for, and no field that it does not know', async () => {
    expect(manifests.length).toBeGreaterThanOrEqual(9);
    for (const manifest of manifests) {
      const models = await import(/* @vite-ignore */ `kubernetes-models/${manifest.apiVersion}`);
      new models[manifest.kind](manifest).validate();
    }
    expect(findUnknownFields(manifests)).toBe('');
    const deployment = find('Deployment');
    const misspelt = { ...deployment, spec: { ...deployment['spec'], replica: 2 } };
    expect(findUnknownFields([misspelt])).toContain(`'"replica"' does not exist`);
  });

  test('are all named by a kustomization, but for the example of a secret', () => {
    const named = ['', 'migration/'].flatMap((folder) =>
      parse(readFileSync(join(KUBERNETES, folder, 'kustomization.yaml'), 'utf8')).resources.map(
        (resource: string) => folder + resource,
      ),
    );
    const files = globSync('**/*.yaml', { cwd: KUBERNETES });
    expect(files.filter((file) => !/(^|\/)kustomization\.yaml$/.test(file)).sort()).toEqual(
      [...named, 'secret.example.yaml'].sort(),
    );
    expect(new Set(kustomizations.map(({ images }) => JSON.stringify(images))).size).toBe(1);
  });

  test('agree with each other', () => {
    const { template, selector } = find('Deployment')['spec'];
    const { labels } = template.metadata;
    const [container] = template.spec.containers;
    for (const kind of ['Service', 'PodDisruptionBudget', 'NetworkPolicy']) {
      const { selector: own, podSelector = own } = find(kind)['spec'];
      expect(labels).toMatchObject(podSelector.matchLabels ?? podSelector);
    }
    expect(labels).toMatchObject(selector.matchLabels);
    // The migration reaches PostgreSQL, too, and gets no request.
    const job = find('Job')['spec'].template;
    expect(job.metadata.labels).toMatchObject(find('NetworkPolicy')['spec'].podSelector.matchLabels);
    expect(job.metadata.labels).not.toMatchObject(find('Service')['spec'].selector);
    expect(find('HorizontalPodAutoscaler')['spec'].maxReplicas).toBe(Number(podSettings['INSTANCES']));
    const files = [...container.env, ...job.spec.containers[0].env].map(({ value }: { value: string }) => value);
    const { stringData } = find('Secret');
    expect(files.every((file) => stringData[file.replace('/run/secrets/petstore/', '')] !== undefined)).toBe(true);
  });

  test('give a pod the time to end by itself', () => {
    const { terminationGracePeriodSeconds, containers } = find('Deployment')['spec'].template.spec;
    const preStop = containers[0].lifecycle.preStop.sleep.seconds;
    const timeout = seconds(podSettings['SHUTDOWN_TIMEOUT']);
    expect(timeout).toBeGreaterThan(seconds(podSettings['SHUTDOWN_DELAY']) + 10);
    expect(terminationGracePeriodSeconds).toBeGreaterThan(preStop + timeout);
  });
});

describe('the Compose file', () => {
  const file = join(DEPLOY, 'compose.yaml');

  test('is one', () => {
    execFileSync('docker-compose', ['--file', file, 'config', '--quiet']);
  });

  test('opens ports on the loopback interface alone, and gives servers the time to end', () => {
    const { services } = parse(readFileSync(file, 'utf8'));
    const ports: readonly string[] = Object.values<{ ports?: string[] }>(services).flatMap(({ ports = [] }) => ports);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    expect(seconds(services.petstore.stop_grace_period)).toBeGreaterThan(10);
  });

  test('lets no service wait for what takes its log, nor the log fill the disk', () => {
    const { services } = parse(readFileSync(file, 'utf8'));
    const bounded = { mode: 'non-blocking', 'max-size': '50m', 'max-file': '5' };
    for (const { logging } of Object.values<{ logging: object }>(services)) {
      expect(logging).toMatchObject({ options: bounded });
    }
  });
});

describe('settings', () => {
  const built = useBuiltFolder();
  const composed = parse(readFileSync(join(DEPLOY, 'compose.yaml'), 'utf8')).services.petstore.environment;
  const allOfUnits = readFileSync(join(DEPLOY, 'systemd/petstore.env'), 'utf8').replaceAll('\n#', '\n');
  // The example's address is not of this machine.
  const ofUnits = readPairs(allOfUnits.replaceAll('10.0.0.12', '127.0.0.1').split('\n'));

  test.each([
    ['Compose', composed],
    ['Kubernetes', podSettings],
    ['systemd', ofUnits],
  ] as const)('of %s are such that the server takes them', async (_, settings: Record<string, string>) => {
    const secrets = readPairs([
      'DATABASE_URL=postgres://petstore@127.0.0.1:9/petstore',
      'REDIS_URL=redis://127.0.0.1:9',
    ]);
    const given = Object.entries(settings).filter(([name]) => !name.endsWith('_FILE'));
    const here = { ...secrets, PORT: '0', ...(settings['ADMIN_PORT'] && { ADMIN_PORT: '0' }) };
    await using server = new Program([process.execPath, built('server.js')], {
      ...Object.fromEntries(given),
      ...here,
    });
    await server.said(/serving health and metrics/);
    await server.stop('SIGKILL');
  });
});
