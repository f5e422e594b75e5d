/** Makes the calls of a trial by a program that was bundled, in a process of its own. Prints a `Call`. */
import { pathToFileURL } from 'node:url';
import type { Call, Caller, Settings } from './call.ts';

export interface CallsTask {
  readonly program: string;
  readonly caller: string;
  readonly settings: Settings;
  /** By their quantity the orders are found, whatever the tool makes of their ids. */
  readonly quantities: { readonly small: number; readonly large: number };
}

async function makeCalls({ program, caller: name, settings, quantities }: CallsTask): Promise<Call | undefined> {
  const module = await import(pathToFileURL(program).href);
  const caller: Caller | undefined = module.createCallers(settings)[name]; // as the programs have them
  if (caller === undefined) return undefined;
  const { orders, remaining } = await caller.list();
  const cancel = async (quantity: number) => {
    const order = orders.find((listed) => listed.quantity === quantity);
    if (order === undefined) throw new Error(`no order of quantity ${quantity} among the ${orders.length} listed`);
    return await caller.cancel(order.id as never); // the type of ids is the tool's
  };
  const small = await cancel(quantities.small);
  const again = await cancel(quantities.small);
  // A tool may refuse to send it.
  const large = await cancel(quantities.large).catch((error: unknown) => ({ code: String(error) }));
  return { remaining, small, again, large };
}

const call = await makeCalls(JSON.parse(process.argv[2] ?? '')).catch((error: unknown) => ({
  failed: error instanceof Error ? error.message : JSON.stringify(error),
}));
process.stdout.write(`\n${JSON.stringify(call ?? null)}\n`, () => process.exit());
