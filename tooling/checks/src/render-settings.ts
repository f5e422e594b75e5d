import { type SettingText, settingsSchema, storageSchema, textOf } from '@petstore/runtime/settings';
import { z } from 'zod';

/** The generated part of docs/settings.md: the settings that the command line reads, and a table of all. */
export function renderSettings(): string {
  const names = Object.values(storageSchema.shape).flatMap((schema) => namesOf(textOf(schema)));
  return [
    '',
    `The command line reads ${names.join(', ')} and \`NODE_ENV\`, by the same rules.`,
    '',
    '| Name | Default | Meaning | Value |',
    '| --- | --- | --- | --- |',
    ...Object.entries(settingsSchema.shape).map(([field, schema]) => renderRow(textOf(schema), DEFAULTS[field])),
    '\n',
  ].join('\n');
}

const { properties = {} } = z.toJSONSchema(settingsSchema, { io: 'input', unrepresentable: 'any' });
const DEFAULTS = Object.fromEntries(
  Object.entries(properties).map(([field, schema]) => [field, typeof schema === 'object' ? schema.default : undefined]),
);

function renderRow(text: SettingText, byDefault: unknown): string {
  const { mustBe, meaning, unset = 'none' } = text;
  const cells = [namesOf(text).join(', '), byDefault ? `\`${byDefault}\`` : unset, meaning, mustBe];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

const namesOf = ({ variable, isSecret }: SettingText): readonly string[] =>
  (isSecret ? [variable, `${variable}_FILE`] : [variable]).map((name) => `\`${name}\``);
