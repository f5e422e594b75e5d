import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ALERT_CASES_FILE, ALERTS } from './support/committed-files.ts';

/** What is raised at a moment of a case, as promtool writes it. */
interface Moment {
  readonly expr: string;
  readonly exp_samples: readonly { readonly labels: string }[];
}

const CASES: readonly { readonly name: string; readonly promql_expr_test: readonly Moment[] }[] = parse(
  readFileSync(ALERT_CASES_FILE, 'utf8'),
).tests;

/** The alerts that a case expects to be raised after a moment of it at which nothing is. */
function raisedAfterQuiet(moments: readonly Moment[]): readonly string[] {
  const quiet = moments.findIndex(({ exp_samples: samples }) => samples.length === 0);
  return quiet < 0 ? [] : moments.slice(quiet).flatMap((each) => each.exp_samples.map(({ labels }) => labels));
}

test.each(ALERTS)('$alert ($labels.severity) has a case in which it is not raised, and then is', (alert) => {
  const labels = `{alertname="${alert.alert}", severity="${alert.labels.severity}"}`;
  expect(CASES.flatMap((each) => raisedAfterQuiet(each.promql_expr_test))).toContain(labels);
});

test('each case looks at all alerts that are raised', () => {
  const expressions = new Set(CASES.flatMap((each) => each.promql_expr_test.map(({ expr }) => expr)));
  expect([...expressions]).toEqual(['count by (alertname, severity) (ALERTS{alertstate="firing"})']);
});
