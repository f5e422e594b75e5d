import type { ClientOutcome, Outcome, Tool, ValidatorOutcome } from './tool.ts';
import type { IdsOutcome, Trial } from './trial.ts';

const BEGIN = '<!-- Written by `pnpm check:tools`. -->';
const END = '<!-- Until here. -->';

/** @throws Error when the text has not both markers, once each and in order */
export function replaceTables(markdown: string, tables: string): string {
  const [before, rest, ...more] = markdown.split(BEGIN);
  const [, after, ...others] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined || more.length + others.length > 0) {
    throw new Error(`the guide must hold "${BEGIN}" and, behind it, "${END}", once each`);
  }
  return `${before}${BEGIN}\n\n${tables}\n\n${END}${after}`;
}

/** How a tool is named in its row: the packages of its name, each with its version. */
export const toolTitle = ({ name, packages }: Tool): string =>
  name
    .split(' + ')
    .map((part) => part.replace(/^\S+/, (packageName) => `${packageName} ${packages[packageName]}`))
    .join(' + ');

export function renderTables(outcomes: readonly Outcome[]): string {
  const clients = outcomes.filter((outcome) => 'trials' in outcome);
  const validators = outcomes.filter((outcome) => 'complaints' in outcome);
  return [
    renderTable(
      ['Client, generator, proxy', 'v1', 'v1 with options', 'v2', 'Error codes', 'Limits'],
      clients.map(clientRow),
    ),
    renderTable(['Validator', 'v1', 'v2'], validators.map(validatorRow)),
    renderTable(
      ['Tool', 'Options'],
      outcomes.map(({ tool }) => [tool.name, tool.options]),
    ),
  ].join('\n\n');
}

const renderTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

function clientRow({ tool, trials, types }: ClientOutcome): string[] {
  const worked = Object.values(trials).filter((trial) => trial?.type === 'worked');
  return [
    toolTitle(tool),
    idsCell(trials.v1, types?.v1.idsFit),
    trials.v1Exact === undefined ? '' : idsCell(trials.v1Exact, types?.v1.idsFit),
    idsCell(trials.v2, types?.v2.idsFit),
    types === undefined ? '' : types.v1.codesAreClosed && types.v2.codesAreClosed ? 'a union' : '`string`',
    worked.length > 0 && worked.every(({ seesLimits }) => seesLimits) ? 'seen' : 'not seen',
  ];
}

function idsCell(trial: Trial | undefined, idsFit = true): string {
  if (trial === undefined) return '';
  if (trial.type === 'failed') return `fails: ${trial.reason.replaceAll(/\s*[|\n]\s*/g, ' ')}`;
  return idsFit ? describeIds(trial.ids) : `${describeIds(trial.ids)}, after a cast`;
}

function describeIds(ids: IdsOutcome): string {
  switch (ids.type) {
    case 'exact':
      return 'exact';
    case 'another-order':
      return '**cancels another order**';
    case 'refused':
      return `refuses: ${ids.reason.replaceAll(/\s*[|\n]\s*/g, ' ')}`;
    default:
      return ids satisfies never;
  }
}

function validatorRow({ tool, complaints }: ValidatorOutcome): string[] {
  const cell = (complaint: string) => (complaint === '' ? 'clean' : complaint.replaceAll(/\s*[|\n]\s*/g, ' '));
  return [toolTitle(tool), cell(complaints.v1), cell(complaints.v2)];
}
