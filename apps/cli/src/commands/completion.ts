import { readdirSync } from 'node:fs';
import { script } from '@bomb.sh/tab';
import addCompletions from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import type { CommandContext } from '../context.ts';

/** The command with which the scripts call this program, in whatever folder it is. */
const EXECUTABLE = [process.execPath, process.argv[1] ?? '']
  .map((path) => `'${path.replaceAll("'", String.raw`'\''`)}'`)
  .join(' ');

/**
 * Replaces the library's script, which evaluates what was typed: the Tab key would carry out a redirection or a
 * substitution.
 */
const BASH = `_petstore() {
  local out line
  out=$(${EXECUTABLE} complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return
  COMPREPLY=()
  while IFS= read -r line; do
    [[ $line == :* ]] || COMPREPLY+=("\${line%%$'\\t'*}")
  done <<< "$out"
  [[ ! -e \${COMPREPLY[0]} ]] || compopt -o filenames
}
complete -F _petstore petstore
`;

/** `petstore completion`: a script for the shell, which asks `petstore complete` for suggestions. */
export function addCompletionCommand(program: Command, { output }: Pick<CommandContext, 'output'>): void {
  const completions = addCompletions(program, { completionCommandName: 'completion' });
  const command = program.commands.find((each) => each.name() === 'completion');
  command?.description('Print a completion script').action(async (shell: string) => {
    if (shell === 'bash') await output.write(BASH);
    else script(shell, 'petstore', EXECUTABLE);
    await output.write(''); // fails if the library's script could not be written, which the library ignores
  });
  for (const each of completions.commands.values()) {
    if (each.arguments.has('FILE')) each.argument('FILE', suggestFiles);
  }
}

/** Suggests the files in the folder of the last word; the library drops those that do not begin with that word. */
function suggestFiles(suggest: (value: string, description: string) => void): void {
  const typed = process.argv.at(-1) ?? '';
  const folder = typed.slice(0, typed.lastIndexOf('/') + 1);
  try {
    for (const name of readdirSync(folder || '.')) suggest(`${folder}${name}`, '');
  } catch {
    // It is not a folder: there is nothing to suggest.
  }
}
