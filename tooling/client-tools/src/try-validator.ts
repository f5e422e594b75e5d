import { runCommand } from './run-command.ts';
import type { Service } from './service.ts';
import type { ValidatorOutcome, ValidatorTool, Version } from './tool.ts';
import { installed, openWorkshop } from './workshop.ts';

const KEPT_CHARACTERS = 300;

/** Lets a validator judge both served documents. */
export async function tryValidator(tool: ValidatorTool, { url }: Service): Promise<ValidatorOutcome> {
  using workshop = await openWorkshop(tool);
  const judge = async (version: Version) => {
    const command = installed(workshop, tool.judge(`${url}/${version}/openapi.json`));
    const { exitCode, output } = await runCommand(command, { cwd: workshop.folder });
    return exitCode === 0 ? '' : output.trim().slice(-KEPT_CHARACTERS);
  };
  return { tool, complaints: { v1: await judge('v1'), v2: await judge('v2') } };
}
