import type { Command } from 'commander';

/** What is typed most often, by command. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  petstore: [
    'petstore keys create --plan pro --name "till 3"',
    'petstore keys set-plan 1a2B3c4D --plan business --until 24h --reason "sale"',
    'petstore orders export orders.ndjson',
    'petstore orders import orders.csv --skip-bad',
    'petstore audit --order 22',
  ],
  'petstore keys create': [
    'petstore keys create --plan pro --name "till 3"',
    'petstore keys create --plan business --internal --expires 90d',
    'petstore keys create --plan enterprise --per-minute 5000 --per-day 1000000',
  ],
  'petstore keys list': ['petstore keys list', 'petstore keys list --json'],
  'petstore keys show': ['petstore keys show 1a2B3c4D'],
  'petstore keys rotate': ['petstore keys rotate 1a2B3c4D', 'petstore keys rotate 1a2B3c4D --overlap 0s'],
  'petstore keys revoke': ['petstore keys revoke 1a2B3c4D'],
  'petstore keys set-plan': [
    'petstore keys set-plan 1a2B3c4D --plan pro',
    'petstore keys set-plan 1a2B3c4D --plan business --until 24h --reason "sale"',
  ],
  'petstore limits show': ['petstore limits show 1a2B3c4D'],
  'petstore bans list': ['petstore bans list'],
  'petstore bans lift': ['petstore bans lift 1a2B3c4D'],
  'petstore orders import': [
    'petstore orders import orders.csv --skip-bad',
    'zcat orders.ndjson.gz | petstore orders import -',
  ],
  'petstore orders generate': ['petstore orders generate --count 10000'],
  'petstore orders list': ['petstore orders list --status pending'],
  'petstore orders export': [
    'petstore orders export orders.csv',
    'petstore orders export - --status shipped | gzip > shipped.ndjson.gz',
  ],
  'petstore pets import': ['petstore pets import pets.csv'],
  'petstore pets export': ['petstore pets export pets.ndjson'],
  'petstore audit': ['petstore audit --order 22', 'petstore audit --key 1a2B3c4D --since 24h'],
  'petstore migrate': ['petstore migrate --status', 'petstore migrate'],
  'petstore completion': ['source <(petstore completion bash)', 'petstore completion fish | source'],
};

/** Shows in the first line what has to be typed, and examples at the end. */
export function completeHelp(command: Command, path = command.name()): void {
  const required = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  const usage = [path, ...required, command.usage()].join(' '); // that of commander begins with [options]
  command.configureHelp({ commandUsage: () => usage });
  const examples = EXAMPLES[path] ?? [];
  if (examples.length > 0) {
    const heading = examples.length === 1 ? 'Example' : 'Examples';
    command.addHelpText('after', ['', `${heading}:`, ...examples.map((example) => `  ${example}`)].join('\n'));
  }
  for (const child of command.commands) completeHelp(child, `${path} ${child.name()}`);
}

/** `help keys create`, which commander itself reads as `help keys`. */
export function addHelpCommand(program: Command): void {
  program
    .helpCommand(false)
    .command('help')
    .description('Show help for a command')
    .argument('[command...]')
    .action((names: readonly string[]) => {
      let command = program;
      for (const name of names) {
        const child = command.commands.find((each) => each.name() === name);
        if (child === undefined) return command.error(`error: unknown command '${name}'`);
        command = child;
      }
      command.help();
    });
}
