/** Tries other people's tools on the running service, and writes what came of it into the guide. See README.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { GUIDE } from './guide.ts';
import { interruptCommands } from './run-command.ts';
import { type Service, startService } from './service.ts';
import { renderTables, replaceTables, toolTitle } from './table.ts';
import type { Outcome, Tool } from './tool.ts';
import { TOOLS } from './tools.ts';
import { tryClient } from './try-client.ts';
import { tryValidator } from './try-validator.ts';

function tryTool(tool: Tool, service: Service): Promise<Outcome> {
  switch (tool.kind) {
    case 'generator':
    case 'client':
    case 'converter':
    case 'proxy':
      return tryClient(tool, service);
    case 'validator':
      return tryValidator(tool, service);
    default:
      return tool satisfies never;
  }
}

async function main(wanted: readonly string[]): Promise<void> {
  const tools = wanted.length === 0 ? TOOLS : TOOLS.filter(({ name }) => wanted.some((word) => name.includes(word)));
  if (tools.length === 0)
    throw new Error(`There is no such tool; there are ${TOOLS.map(({ name }) => name).join(', ')}`);
  await using service = await startService();
  const outcomes: Outcome[] = [];
  for (const tool of tools) {
    console.error(toolTitle(tool));
    outcomes.push(await tryTool(tool, service));
  }
  const tables = renderTables(outcomes);
  console.log(tables);
  // A part would take the others out of the guide.
  if (tools === TOOLS) writeFileSync(GUIDE, replaceTables(readFileSync(GUIDE, 'utf8'), tables));
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interruptCommands);
await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
