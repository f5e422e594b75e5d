import { readFileSync } from 'node:fs';
import type { Dashboard, Panel } from '@grafana/schema';
import { describe, expect, test } from 'vitest';
import { DASHBOARD_FILE } from '../src/generated-files.ts';
import { parseQuery } from './support/promql.ts';

const dashboard: Dashboard = JSON.parse(readFileSync(DASHBOARD_FILE, 'utf8')); // its form is checked where it is made
const laid = dashboard.panels ?? [];
const panels = laid.filter((panel): panel is Panel => panel.type !== 'row');

interface Target {
  readonly refId: string;
  readonly expr: string;
  readonly datasource: { readonly uid: string };
}
const targetsOf = (panel: Panel) => panel.targets as unknown as readonly Target[]; // as Prometheus' plug-in has them

describe('the dashboard', () => {
  test('has a place for each panel: within the 24 columns, and nothing in it twice', () => {
    const taken = new Set<string>();
    for (const { title, gridPos } of laid) {
      const { x, y, w, h } = gridPos ?? { x: 0, y: 0, w: 0, h: 0 };
      expect(x + w, title ?? '').toBeLessThanOrEqual(24);
      for (let column = x; column < x + w; column++) {
        for (let line = y; line < y + h; line++) {
          expect(taken.has(`${column} ${line}`), `${title} at ${column}, ${line}`).toBe(false);
          taken.add(`${column} ${line}`);
        }
      }
    }
    const end = Math.max(...laid.map(({ gridPos }) => (gridPos?.y ?? 0) + (gridPos?.h ?? 0)));
    const free = Array.from({ length: end * 24 }, (_, i) => `${i % 24} ${Math.floor(i / 24)}`).filter(
      (cell) => !taken.has(cell),
    );
    expect(free, 'no hole in it').toEqual([]);
  });

  test('says of each panel what it shows, and in which unit', () => {
    expect(new Set(laid.map(({ id }) => id)).size).toBe(laid.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    for (const { title, description, fieldConfig } of panels) {
      expect(description, title).toMatch(/^[A-Z9].+\.$/);
      expect(fieldConfig?.defaults.unit, title).toMatch(/^\w+$/);
    }
  });

  test('asks for series by its own variables alone', () => {
    const variables = dashboard.templating?.list?.map(({ name }) => name) ?? [];
    expect(variables).toEqual(['datasource', 'job', 'instance']);
    for (const panel of panels) {
      expect(targetsOf(panel).length, panel.title).toBeGreaterThan(0);
      for (const { expr, datasource } of targetsOf(panel)) {
        const used = [...expr.matchAll(/\$(\w+)/g)].map(([, name = '']) => name);
        expect(used.filter((name) => !name.startsWith('__') && !variables.includes(name))).toEqual([]);
        expect(datasource.uid).toBe('$datasource');
        for (const { metric, matchers } of parseQuery(expr).selectors) {
          const job = matchers.find(({ label }) => label === 'job')?.value;
          expect(job, `${panel.title}: ${metric}`).toBe('$job');
        }
      }
    }
  });
});
