import { Argument, type Command } from 'commander';
import type { CommandContext } from '../context.ts';

/** The words that can be typed at a place of a command line. At all other places the shell suggests files. */
interface Suggestion {
  /**
   * A pattern with `*` of all words before the one to complete, each followed by a blank; at its end stands a hyphen if
   * the word to complete begins with one.
   */
  readonly place: string;
  readonly words: readonly string[];
}

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** `petstore completion`: a script that knows all commands, so that the Tab key starts no program. */
export const addCompletionCommand = (program: Command, { output }: Pick<CommandContext, 'output'>): Command =>
  program
    .command('completion')
    .description('Print a completion script')
    .addArgument(new Argument('<shell>', 'Shell of the script').choices(SHELLS))
    .action((shell: (typeof SHELLS)[number]) => output.write(SCRIPTS[shell]([...listSuggestions(program, '')])));

/** Lists the suggestions for a command and those below it. The first whose place matches holds. */
function* listSuggestions(command: Command, path: string): Generator<Suggestion> {
  if (command.commands.length > 0) {
    yield { place: path, words: command.commands.map((child) => child.name()) };
    for (const child of command.commands) yield* listSuggestions(child, `${path}${child.name()} `);
    return;
  }
  const withChoices = [
    ...command.options.map(({ long, argChoices }) => ({ place: `${path}*${long} `, words: argChoices })),
    ...command.registeredArguments.map(({ argChoices }) => ({ place: path, words: argChoices })),
  ];
  for (const { place, words } of withChoices) if (words !== undefined) yield { place, words };
  yield { place: `${path}*-`, words: ['--help', ...command.options.map(({ long }) => long ?? '')] };
}

/** The cases of a shell, whose patterns are quoted but for `*`. No name of a command, option or choice needs quotes. */
const casesOf = (suggestions: readonly Suggestion[]): string =>
  suggestions
    .map(({ place, words }) => `    '${place.replaceAll('*', "'*'")}') choices='${words.join(' ')}' ;;\n`)
    .join('');

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (suggestions: readonly Suggestion[]) => string>> = {
  bash: (suggestions) => `_petstore() {
  local current=\${COMP_WORDS[COMP_CWORD]} place='' choices=''
  ((COMP_CWORD < 2)) || place="\${COMP_WORDS[*]:1:COMP_CWORD-1} "
  [[ $current != -* ]] || place+=-
  case $place in
${casesOf(suggestions)}  esac
  COMPREPLY=($(compgen -W "$choices" -- "$current"))
}
complete -o default -F _petstore petstore
`,
  zsh: (suggestions) => `_petstore() {
  local place='' choices=''
  ((CURRENT < 3)) || place="\${(j: :)words[2,CURRENT-1]} "
  [[ $PREFIX != -* ]] || place+=-
  case $place in
${casesOf(suggestions)}  esac
  compadd -- \${=choices} || _files
}
compdef _petstore petstore
`,
  fish: (suggestions) => `function __petstore_choices
  set -l place (string join '' -- (commandline -opc)[2..]' ')
  string match -q -- '-*' (commandline -ct); and set place $place-
  switch "$place"
${suggestions.map(({ place, words }) => `    case '${place}'\n      printf '%s\\n' ${words.join(' ')}\n`).join('')}  end
end
complete -c petstore -f -n 'count (__petstore_choices) >/dev/null' -a '(__petstore_choices)'
`,
};
