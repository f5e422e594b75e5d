import type { History, Operation } from './history.ts';

/** Why no order of single steps leads to what the clients saw. */
export interface Contradiction<State, Call, Outcome> {
  /** Calls that contradict each other, by the time of the call: without any of the reads among them they would not. */
  readonly operations: readonly Operation<Call, Outcome>[];
  /** The one of them whose response cannot be explained any more. */
  readonly unexplained: Operation<Call, Outcome>;
  /** What was possible a moment before that response. */
  readonly states: readonly State[];
}

/**
 * Looks for an order of single steps that explains a history: each call takes effect at one moment between call and
 * response, and one whose response was lost at any moment after the call, or never (linearizability).
 *
 * It goes through calls and responses by time, as Wing and Gong did, with all states that are possible so far, and takes
 * a step only when a response demands one (Lowe's "just-in-time linearization"). Calls that change nothing take effect as
 * soon as they may, which rules nothing out. What happened at the same time is taken for concurrent.
 *
 * @returns `undefined` where there is such an order
 */
export function findContradiction<State extends string | number, Call, Outcome>(
  history: History<State, Call, Outcome>,
): Contradiction<State, Call, Outcome> | undefined {
  const found = search(history);
  return found && shrink(history, found);
}

/** What is possible at a moment. */
interface Possibility<State> {
  readonly state: State;
  /** Calls under way that have taken effect and whose response is still to come, by their place in the history. */
  readonly done: ReadonlySet<number>;
  /** Calls whose response was lost and that have taken effect. */
  readonly lost: ReadonlySet<number>;
}

/**
 * Possibilities of which none includes another: with the same state and the same calls done, one that has used fewer of
 * the lost calls can do all that the other can.
 */
class Possibilities<State extends string | number> {
  readonly #byKey = new Map<string, Possibility<State>[]>();

  /** @returns false where one that is there can do as much */
  add(possibility: Possibility<State>): boolean {
    const { state, done, lost } = possibility;
    const key = `${state}:${[...done].sort((a, b) => a - b).join()}`;
    const alike = this.#byKey.get(key) ?? [];
    if (alike.some((other) => isSubset(other.lost, lost))) return false;
    const rest = alike.filter((other) => !isSubset(lost, other.lost));
    this.#byKey.set(key, [...rest, possibility]);
    return true;
  }

  all(): readonly Possibility<State>[] {
    return [...this.#byKey.values()].flat();
  }
}

const isSubset = (part: ReadonlySet<number>, whole: ReadonlySet<number>): boolean =>
  part.size <= whole.size && [...part].every((index) => whole.has(index));

interface Moment {
  readonly atMs: number;
  readonly type: 'call' | 'response';
  readonly index: number;
}

function search<State extends string | number, Call, Outcome>(
  history: History<State, Call, Outcome>,
): Contradiction<State, Call, Outcome> | undefined {
  const { operations, initial } = history;
  const underWay = new Set<number>();
  let possible: readonly Possibility<State>[] = [{ state: initial, done: new Set(), lost: new Set() }];
  for (const { type, index, atMs } of momentsOf(operations)) {
    if (type === 'call') {
      underWay.add(index);
      possible = possible.map((each) => withReads(history, each, [index]));
      continue;
    }
    const after = afterResponse(history, { underWay, possible, index });
    const unexplained = operations[index];
    if (after.length === 0 && unexplained !== undefined) {
      const states = [...new Set(possible.map(({ state }) => state))];
      return { operations: operations.filter(({ calledAtMs }) => calledAtMs <= atMs), unexplained, states };
    }
    underWay.delete(index);
    possible = after;
  }
  return undefined;
}

function momentsOf(operations: readonly Operation<unknown, unknown>[]): Moment[] {
  const moments = operations.flatMap(({ calledAtMs, response }, index): Moment[] => [
    { atMs: calledAtMs, type: 'call', index },
    ...(response === undefined ? [] : [{ atMs: response.atMs, type: 'response' as const, index }]),
  ]);
  const rank = ({ type }: Moment) => (type === 'call' ? 0 : 1);
  return moments.sort((a, b) => a.atMs - b.atMs || rank(a) - rank(b));
}

interface Search<State> {
  readonly underWay: ReadonlySet<number>;
  readonly possible: readonly Possibility<State>[];
  /** The call whose response has come. */
  readonly index: number;
}

/** What is possible once a call has taken effect, at the latest. */
function afterResponse<State extends string | number, Call, Outcome>(
  history: History<State, Call, Outcome>,
  { underWay, possible, index }: Search<State>,
): readonly Possibility<State>[] {
  const met = new Possibilities<State>();
  const after = new Possibilities<State>();
  // Few steps first, so that what used lost calls in vain is passed over.
  let open = possible;
  while (open.length > 0) {
    const next: Possibility<State>[] = [];
    for (const each of open) {
      if (!met.add(each)) continue;
      if (each.done.has(index)) after.add({ ...each, done: without(each.done, index) });
      else next.push(...stepsFrom(history, each, underWay));
    }
    open = next;
  }
  return after.all();
}

function without(done: ReadonlySet<number>, index: number): ReadonlySet<number> {
  const rest = new Set(done);
  rest.delete(index);
  return rest;
}

/** What each call under way that is no read may lead to. */
function* stepsFrom<State extends string | number, Call, Outcome>(
  history: History<State, Call, Outcome>,
  from: Possibility<State>,
  underWay: ReadonlySet<number>,
): Generator<Possibility<State>> {
  const { model, operations } = history;
  for (const index of underWay) {
    const operation = operations[index];
    if (operation === undefined || from.done.has(index) || from.lost.has(index) || isRead(history, operation)) continue;
    const { call, response } = operation;
    const state = model.step(from.state, call, response?.outcome);
    if (state === undefined) continue;
    if (response !== undefined)
      yield withReads(history, { ...from, state, done: including(from.done, index) }, underWay);
    // A lost call that changes nothing now may as well take effect later.
    else if (state !== from.state)
      yield withReads(history, { ...from, state, lost: including(from.lost, index) }, underWay);
  }
}

const including = (done: ReadonlySet<number>, index: number): ReadonlySet<number> => new Set([...done, index]);

/** The same, with all reads that fit its state. */
function withReads<State extends string | number, Call, Outcome>(
  history: History<State, Call, Outcome>,
  possibility: Possibility<State>,
  underWay: Iterable<number>,
): Possibility<State> {
  const { model, operations } = history;
  const done = new Set(possibility.done);
  for (const index of underWay) {
    const operation = operations[index];
    if (operation?.response === undefined || !isRead(history, operation)) continue;
    if (model.step(possibility.state, operation.call, operation.response.outcome) !== undefined) done.add(index);
  }
  return { ...possibility, done };
}

const isRead = <State extends string | number, Call, Outcome>(
  { model }: History<State, Call, Outcome>,
  { call, response }: Operation<Call, Outcome>,
): boolean => model.isRead(call, response?.outcome);

/**
 * Leaves out all reads without which there is still a contradiction: first many of them at a time, then fewer. Calls that
 * changed something, or may have, stay: they may explain what is left.
 */
function shrink<State extends string | number, Call, Outcome>(
  history: History<State, Call, Outcome>,
  contradiction: Contradiction<State, Call, Outcome>,
): Contradiction<State, Call, Outcome> {
  let smallest = contradiction;
  const reads = contradiction.operations.filter((operation) => isRead(history, operation));
  for (let size = Math.ceil(reads.length / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let begin = 0; begin < reads.length; begin += size) {
      const leftOut = new Set(reads.slice(begin, begin + size));
      const operations = smallest.operations.filter((operation) => !leftOut.has(operation));
      if (operations.length < smallest.operations.length) smallest = search({ ...history, operations }) ?? smallest;
    }
  }
  const byTime = smallest.operations.toSorted((a, b) => a.calledAtMs - b.calledAtMs);
  return { ...smallest, operations: byTime };
}
