import { beforeAll, describe, expect, test } from 'vitest';
import { ALERT_RULES_FILE, ALERTS, sectionOf } from '../../observability/support/committed-files.ts';
import { FAULTS, type FaultName } from './faults/faults.ts';
import { recordFaultsOfLimits } from './faults/of-limits.ts';
import { recordFaultsOfLists } from './faults/of-lists.ts';
import { recordFaultsOfProcesses } from './faults/of-processes.ts';
import { recordFaultsOfStorage } from './faults/of-storage.ts';
import { asPrometheus3, type Phase } from './support/extrapolate.ts';
import { FaultRecordings } from './support/fault-recordings.ts';
import { evaluateRules, promtool } from './support/prometheus.ts';
import type { Observed } from './support/watched-server.ts';

/** Notices a recording that hangs. On an idle machine all of them take two minutes and a half. */
const RECORDING_MS = 600_000;

const recordings = new FaultRecordings();
const NAMED_FAULTS = Object.entries(FAULTS).map(([name, fault]) => ({ ...fault, name: name as FaultName })); // its keys

beforeAll(async () => {
  // Lists mostly wait for slow readers to be cut. The others follow one another, so that none makes another one late.
  const recorded = await Promise.allSettled([
    recordFaultsOfLists(recordings),
    recordFaultsOfProcesses(recordings)
      .then(() => recordFaultsOfStorage(recordings))
      .then(() => recordFaultsOfLimits(recordings)),
  ]);
  const failures = recorded.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  if (failures.length > 0) throw new AggregateError(failures, 'Not all faults could be injected.');
}, RECORDING_MS);

test('promtool finds nothing wrong with the rules', () => {
  expect(promtool(['check', 'rules', '--lint=all', '--lint-fatal', ALERT_RULES_FILE])).toContain(
    `SUCCESS: ${ALERTS.length} rules found`,
  );
});

test('an hour of health, in which a server is replaced, raises nothing', async () => {
  const { timelines, whole } = recordings.health;
  const { raised } = await evaluateRules(timelines, [whole]);
  expect(raised).toEqual([[]]);
});

/** A server whose statements are slow for a share of them, while its event loop is late. Made up, so that times are exact. */
function observeStatements({ slowShare, lagSeconds }: { slowShare: number; lagSeconds: number }): Observed {
  const histogram = 'petstore_postgres_statement_duration_seconds';
  const risingNames = new Set([`${histogram}_bucket`, `${histogram}_count`]);
  const after = (count: number) =>
    new Map([
      [`${histogram}_bucket{purpose="reads",le="1"}`, count * (1 - slowShare)],
      [`${histogram}_count{purpose="reads"}`, count],
      ['nodejs_eventloop_lag_p99_seconds', lagSeconds],
      ['petstore_ready', 1],
    ]);
  return { from: { atMs: 0, values: after(0), risingNames }, to: { atMs: 60_000, values: after(600), risingNames } };
}

describe('PetstorePostgresSlow, where a server measures the lateness of its own event loop,', () => {
  const calm: Phase = { minutes: 30, observed: observeStatements({ slowShare: 0, lagSeconds: 0.01 }) };
  const late: Phase = { minutes: 30, observed: observeStatements({ slowShare: 0.5, lagSeconds: 0.3 }) };
  const slow: Phase = { minutes: 30, observed: observeStatements({ slowShare: 0.5, lagSeconds: 0.01 }) };
  const whole = { from: 0, to: 90 };

  test('is not raised meanwhile, nor in the minutes after it', async () => {
    const { raised } = await evaluateRules([{ instance: 'server-1:3001', phases: [calm, late, calm] }], [whole]);
    expect(raised).toEqual([['PetstoreEventLoopLag ticket']]);
  });

  test('is raised if statements of another server are slow, too', async () => {
    const timelines = [
      { instance: 'server-1:3001', phases: [calm, late, calm] },
      { instance: 'server-2:3001', phases: [calm, slow, calm] },
    ];
    const { raised } = await evaluateRules(timelines, [whole]);
    expect(raised).toEqual([['PetstoreEventLoopLag ticket', 'PetstorePostgresSlow page']]);
  });
});

describe('a fault of real servers raises its alert and no other, and nothing is raised before or long after it:', () => {
  // Each promtool keeps one processor busy.
  test.concurrent.for(NAMED_FAULTS)('$name: $what', async ({ name, alert, severity }) => {
    const { timelines, before, during, after, atTheEnd } = recordings.of(name);
    const { raised, texts } = await evaluateRules(timelines, [before, during, after, atTheEnd], {
      name: alert,
      atMinute: during.to - 1,
    });
    const own = `${alert} ${severity}`;
    const [raisedBefore, raisedDuring, raisedAfter = [], raisedAtTheEnd] = raised;
    expect(raisedBefore, 'before').toEqual([]);
    expect(raisedDuring, 'during').toEqual([own]);
    expect(
      raisedAfter.filter((each) => each !== own),
      'after',
    ).toEqual([]);
    expect(raisedAtTheEnd, 'at the end').toEqual([]);
    for (const { summary, description } of texts) {
      expect(summary).toMatch(/^[A-Z].*\.$/);
      expect(description).toMatch(/^[^<>]*\.$/);
      expect(description).not.toMatch(/NaN|Inf|no value/);
    }
    expect(texts.map((text) => text.severity)).toContain(severity);
  });

  test('also as Prometheus 3 stores series, with decimals as the bounds of histograms', async () => {
    const { timelines, during } = recordings.of('table locked');
    const { raised } = await evaluateRules(timelines, [during], undefined, asPrometheus3);
    expect(raised).toEqual([[`${FAULTS['table locked'].alert} page`]]);
  });

  test('each alert has such a fault', () => {
    const raised = new Set(Object.values(FAULTS).map(({ alert, severity }) => `${alert} ${severity}`));
    expect([...raised].toSorted()).toEqual(ALERTS.map(({ alert, labels }) => `${alert} ${labels.severity}`).toSorted());
  });
});

describe('the commands of a section of the runbook print what it shows, while the fault lasts:', () => {
  test.for([...new Set(ALERTS.map(({ alert }) => alert))])('%s', (alert) => {
    const steps = recordings.stepsOf(alert);
    const commands = sectionOf(alert).match(/^\$ /gm);
    expect(steps).toHaveLength(commands?.length ?? Number.NaN);
    expect(steps.map(({ command, printed }) => ({ command, printed }))).toEqual(
      steps.map(({ command, shown }) => ({ command, printed: shown })),
    );
  });
});
