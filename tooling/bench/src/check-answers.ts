import { isDeepStrictEqual } from 'node:util';
import { request } from 'undici';
import { CONTENDERS, type Contender } from './lab/contenders.ts';
import { runSql } from './lab/databases.ts';
import type { Lab } from './lab/lab.ts';
import { UNKNOWN_ORDER } from './scenarios/scenario.ts';

/** Past what a service reads in one piece, and with all states. */
const ORDER_COUNT = 9_000;
const SHIPPED = `update orders set status = 'shipped', shipped_at = now(), complete = id % 2 = 0,
  completed_at = case when id % 2 = 0 then now() end where id % 3 = 0`;

/** Pending orders, one for each, since a cancel cannot be repeated by the other. */
const PENDING = { service: 1, baseline: 2 } satisfies Record<Contender, number>;
const SHIPPED_ORDER = 3;

/** What must be equal. The words of errors may differ, and the moment at which a limit resets does. */
interface Answer {
  readonly status: number;
  readonly mediaType: string | undefined;
  readonly body: unknown;
  readonly limit: string | undefined;
  readonly saysWhenToRetry: boolean;
}

/**
 * Asks both contenders the same things.
 *
 * @throws Error that names the first answer in which they differ: what does not do the same cannot be compared
 */
export async function checkAnswers(lab: Lab): Promise<void> {
  const databaseUrl = await lab.databases.fill('orders_to_check', ORDER_COUNT);
  await runSql(databaseUrl, SHIPPED);
  const answers = { service: new Map<string, Answer>(), baseline: new Map<string, Answer>() };
  for (const contender of CONTENDERS) {
    await using server = await lab.startServer(contender, databaseUrl);
    for (const [name, ask] of Object.entries(questions(lab, server.listUrl, PENDING[contender]))) {
      answers[contender].set(name, await ask());
    }
    const [row] = await runSql(databaseUrl, `select status from orders where id = ${PENDING[contender]}`);
    if (row?.['status'] !== 'cancelled') throw new Error(`the ${contender} said 204, and cancelled nothing`);
  }
  for (const [name, expected] of answers.baseline) {
    const given = answers.service.get(name);
    if (!isDeepStrictEqual(given, expected)) {
      throw new Error(`"${name}" is not answered alike:\nservice:  ${show(given)}\nbaseline: ${show(expected)}`);
    }
  }
  expectStatuses(answers.service);
}

/** So that two that fail alike do not pass. */
const EXPECTED = {
  list: 200,
  'no key': 401,
  'wrong key': 401,
  'id that is none': 400,
  'unknown order': 404,
  'shipped order': 409,
  'pending order': 204,
  'cancelled order': 409,
  'beyond the limit': 429,
} as const;
type QuestionName = keyof typeof EXPECTED;

function expectStatuses(answers: ReadonlyMap<string, Answer>): void {
  for (const [name, status] of Object.entries(EXPECTED)) {
    const given = answers.get(name)?.status;
    if (given !== status) throw new Error(`"${name}" is answered with ${given}, not ${status}`);
  }
}

function questions(lab: Lab, listUrl: string, pendingId: number): Record<QuestionName, () => Promise<Answer>> {
  const { unlimited, exhausted } = lab.databases.keys;
  const cancel = (id: number | string) => () => ask(`${listUrl}/${id}`, 'DELETE', unlimited);
  return {
    list: () => ask(listUrl, 'GET', unlimited),
    'no key': () => ask(listUrl, 'GET'),
    'wrong key': () => ask(listUrl, 'GET', 'nobody'),
    'id that is none': cancel('0x1'),
    'unknown order': cancel(UNKNOWN_ORDER),
    'shipped order': cancel(SHIPPED_ORDER),
    'pending order': cancel(pendingId),
    'cancelled order': cancel(pendingId),
    async 'beyond the limit'() {
      await ask(listUrl, 'GET', exhausted);
      return ask(listUrl, 'GET', exhausted);
    },
  };
}

async function ask(url: string, method: 'GET' | 'DELETE', apiKey?: string): Promise<Answer> {
  const { statusCode, headers, body } = await request(url, {
    method,
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
  });
  const text = await body.text();
  return {
    status: statusCode,
    mediaType: headers['content-type']?.toString().split(';')[0],
    body: statusCode < 400 ? text : withoutMessage(text),
    limit: headers['x-ratelimit-limit']?.toString(),
    saysWhenToRetry: Number(headers['retry-after'] ?? 0) >= 1,
  };
}

/** An Error object, but for its words. */
function withoutMessage(text: string): unknown {
  const { message, ...rest } = JSON.parse(text) as Record<string, unknown>; // an object, or the comparison will tell
  return { ...rest, hasMessage: typeof message === 'string' && message !== '' };
}

function show(answer: Answer | undefined): string {
  const text = JSON.stringify(answer);
  return text === undefined || text.length <= 400
    ? String(text)
    : `${text.slice(0, 400)}... (${text.length} characters)`;
}
