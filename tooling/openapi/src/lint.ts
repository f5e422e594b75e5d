import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { lint as lintByRedocly, loadConfig } from '@redocly/openapi-core';
import { type RulesetDefinition, Spectral } from '@stoplight/spectral-core';
import owasp from '@stoplight/spectral-owasp-ruleset';
import { oas } from '@stoplight/spectral-rulesets';
import type { Waiver } from './waivers.ts';

/** A linter's finding in a document: an error, a warning or a hint. */
export interface Finding {
  readonly rule: string;
  /** The JSON path, joined by slashes. */
  readonly at: string;
  readonly message: string;
}

const REDOCLY_CONFIG = fileURLToPath(new URL('../redocly.yaml', import.meta.url));
const SPECTRAL_RULES = {
  extends: [
    [oas as RulesetDefinition, 'recommended'], // its types want `extends` beside `rules`, which no ruleset needs
    [owasp as unknown as RulesetDefinition, 'all'], // its types describe a CommonJS module, but it is imported as an ES module
  ],
} satisfies RulesetDefinition;

/** All findings of Redocly's recommended rules and of Spectral's, including those of OWASP, in a document. */
export async function lintDocument(file: string): Promise<readonly Finding[]> {
  const spectral = new Spectral();
  spectral.setRuleset(SPECTRAL_RULES);
  const bySpectral = await spectral.run(readFileSync(file, 'utf8'));
  const byRedocly = await lintByRedocly({ ref: file, config: await loadConfig({ configPath: REDOCLY_CONFIG }) });
  return [
    ...bySpectral.map(({ code, path, message }) => ({ rule: String(code), at: path.join('/'), message })),
    ...byRedocly.map(({ ruleId, location, message }) => ({
      rule: ruleId,
      at: location[0]?.pointer?.replace(/^#\//, '') ?? '',
      message,
    })),
  ];
}

export interface Judgement {
  readonly open: readonly Finding[];
  /** Waivers without a matching finding. */
  readonly needless: readonly Waiver[];
}

/** Removes the waived findings. */
export function judge(findings: readonly Finding[], waivers: readonly Waiver[]): Judgement {
  const covers = (waiver: Waiver, { rule, at }: Finding) => waiver.rule === rule && waiver.at.test(at);
  return {
    open: findings.filter((finding) => !waivers.some((waiver) => covers(waiver, finding))),
    needless: waivers.filter((waiver) => !findings.some((finding) => covers(waiver, finding))),
  };
}
