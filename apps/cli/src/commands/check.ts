import { isApiKeyText } from '@petstore/domain';
import type { Environment } from '@petstore/runtime';
import { type Command, Option } from 'commander';
import type { JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { ReportedError, UsageError } from '../errors.ts';

interface CheckFlags extends JsonFlag {
  readonly url: string;
  readonly key?: string;
}

const KEY_VARIABLE = 'PETSTORE_API_KEY';
/** Before each finding, all of one width. */
const MARKS = new Map([
  [true, 'ok     '],
  [false, 'BROKEN '],
  [null, 'skipped'],
]);

/** `petstore check`: whether an installation keeps its promises behind its proxy. */
export const addCheckCommand = (program: Command, { environment, output }: CommandContext): Command =>
  program
    .command('check')
    .description('Check an installation as callers reach it; changes nothing')
    .addOption(
      new Option('--url <url>', 'Address for callers (required)').argParser(parseServiceUrl).makeOptionMandatory(),
    )
    .option('--key <key>', `API key, better internal (default: ${KEY_VARIABLE})`, keyParser('--key'))
    .addHelpText(
      'after',
      `
Every promise that a proxy can break has a line, with what was seen. A key
shows the most; the variable hides it from lists of processes. It ends with 1
if a promise is broken.`,
    )
    .action(async ({ url, key = keyOf(environment[KEY_VARIABLE]), json }: CheckFlags) => {
      const { checkInstallation } = await import('../check/check-installation.ts');
      const findings = [];
      for await (const finding of checkInstallation(url, key, proxyHint(url, environment))) {
        findings.push(finding);
        const { check, ok, seen } = finding;
        // What answers may send control characters, which a terminal must not obey.
        if (!json) await output.write(`${MARKS.get(ok)}  ${check}: ${seen.replace(/\p{Cc}/gu, '?')}\n`);
      }
      if (json) await output.writeJson(findings);
      if (!findings.some(({ ok }) => ok === false)) return;
      if (!json) output.message('docs/operations.md says under "Behind a proxy" what usually causes it.');
      throw new ReportedError();
    });

/** A host of this machine, to which no proxy leads. */
const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/;

/** Says that Node does not go through the proxy of the environment by itself, as curl does; empty if curl would not. */
function proxyHint(url: string, environment: Environment): string {
  const { protocol, hostname } = new URL(url);
  const upper = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const name = [upper, upper.toLowerCase()].find((variable) => environment[variable]);
  if (name === undefined || environment['NODE_USE_ENV_PROXY'] === '1' || LOOPBACK.test(hostname)) return '';
  const exceptions = (environment['NO_PROXY'] || environment['no_proxy'] || '').split(/[\s,]+/).filter(Boolean);
  const isException = exceptions.some(
    (entry) => entry === '*' || `.${hostname}`.endsWith(`.${entry.replace(/^\*?\.|:\d+$/g, '')}`),
  );
  return isException ? '' : `; ${name} is set, and Node heeds it with NODE_USE_ENV_PROXY=1 only`;
}

/** @returns the address without `/v1` and without a slash at its end. @throws UsageError */
function parseServiceUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.origin + url.pathname === url.href) {
    return url.href.replace(/\/+$/, '').replace(/\/v1$/, '');
  }
  throw new UsageError('--url must be an http or https address, such as https://api.shop.example, without a query');
}

const keyOf = (text: string | undefined): string | undefined => (text ? keyParser(KEY_VARIABLE)(text) : undefined);

/** Its messages never repeat the text. @throws UsageError */
const keyParser =
  (name: string) =>
  (text: string): string => {
    if (isApiKeyText(text)) return text;
    throw new UsageError(`${name} must be a whole API key, as it was shown when it was created`);
  };
