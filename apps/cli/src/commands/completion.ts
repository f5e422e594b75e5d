import { Argument, type Command } from 'commander';
import type { CommandContext } from '../context.ts';

/** What can follow some words of a command line. */
interface Place {
  /** The commands so far, without the program: `keys create`. */
  readonly words: string;
  readonly commands: readonly string[];
  readonly options: readonly {
    readonly flag: string;
    readonly takesValue: boolean;
    readonly choices: readonly string[];
  }[];
}

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

type Shell = keyof typeof SCRIPTS;

/** `petstore completion`: a script for the shell, which offers commands, options and their choices. */
export function addCompletionCommand(program: Command, { output }: CommandContext): void {
  program
    .command('completion')
    .description('Print a completion script for bash, zsh or fish')
    .addArgument(new Argument('<shell>', 'Shell').choices(Object.keys(SCRIPTS)))
    .action((shell: Shell) => output.write(SCRIPTS[shell](placesOf(program))));
}

function placesOf(command: Command, words = ''): readonly Place[] {
  const visible = command.createHelp().visibleOptions(command); // with --help
  const options = visible.map(({ long, short, required, optional, argChoices = [] }) => ({
    flag: long ?? short ?? '',
    takesValue: required || optional,
    choices: argChoices,
  }));
  const names = (words === 'help' ? command.parent : command)?.commands.map((child) => child.name()) ?? [];
  const own = { words, commands: names.filter((name) => name !== words), options };
  return [own, ...command.commands.flatMap((child) => placesOf(child, `${words} ${child.name()}`.trim()))];
}

/** The words before the current one, options and their values left out, say where we are. */
function bashScript(places: readonly Place[]): string {
  const values = new Map(
    places.flatMap(({ options }) =>
      options.filter(({ takesValue }) => takesValue).map((each) => [each.flag, each.choices]),
    ),
  );
  const cases = places.map(
    ({ words, commands, options }) =>
      `    '${words}') words='${[...commands, ...options.map(({ flag }) => flag)].join(' ')}' ;;`,
  );
  const choices = [...values].map(([flag, names]) => `    ${flag}) choices='${names.join(' ')}'; takes_value=1 ;;`);
  return `_petstore_value() {
  choices='' takes_value=''
  case "$1" in
${choices.join('\n')}
  esac
}
_petstore() {
  local current="\${COMP_WORDS[COMP_CWORD]}" place='' words='' choices='' takes_value='' i word
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    _petstore_value "\${COMP_WORDS[i-1]}"
    if [[ $word != -* && -z $takes_value ]]; then place="$place\${place:+ }$word"; fi
  done
  _petstore_value "\${COMP_WORDS[COMP_CWORD-1]}"
  if [[ -n $takes_value ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$current"))
    return
  fi
  case "$place" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _petstore petstore ./petstore
`;
}

function zshScript(places: readonly Place[]): string {
  return `autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(places)}`;
}

function fishScript(places: readonly Place[]): string {
  const lines = places.flatMap(({ words, commands, options }) => {
    const path = words.split(' ').filter((word) => word !== '');
    const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const notYet = commands.length === 0 ? [] : [`not __fish_seen_subcommand_from ${commands.join(' ')}`];
    const where = `-n '${[...seen, ...notYet].join('; and ') || 'true'}'`;
    return [
      ...(commands.length === 0 ? [] : [`complete -c petstore ${where} -f -a '${commands.join(' ')}'`]),
      ...options.map(({ flag, takesValue, choices }) => {
        const value = takesValue ? (choices.length > 0 ? ` -x -a '${choices.join(' ')}'` : ' -r') : '';
        return `complete -c petstore ${where} -l ${flag.replace(/^-+/, '')}${value}`;
      }),
    ];
  });
  return `${lines.join('\n')}\n`;
}
