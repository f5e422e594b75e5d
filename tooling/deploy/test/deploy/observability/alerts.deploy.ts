import { expect, test } from 'vitest';
import { ALERT_CASES_FILE, ALERT_RULES_FILE, ALERTS } from '../../observability/support/committed-files.ts';
import { promtool } from './support/prometheus.ts';

test('promtool finds nothing wrong with the rules', () => {
  expect(promtool(['check', 'rules', '--lint=all', '--lint-fatal', ALERT_RULES_FILE])).toContain(
    `SUCCESS: ${ALERTS.length} rules found`,
  );
});

test('in each case the rules raise the alert that it expects, and no other', () => {
  expect(promtool(['test', 'rules', ALERT_CASES_FILE])).toContain('SUCCESS');
});
