import { randomInt } from 'node:crypto';
import { GENERATION_SEED_MAX } from '@petstore/domain';
import type { ActorFlag, JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { Progress } from '../progress.ts';
import { MAY_MAKE_DATABASE } from '../session.ts';

export interface GenerateFlags extends ActorFlag, JsonFlag {
  readonly count: number;
  readonly seed?: number;
}

/** Generates orders. */
export async function generateOrders(context: CommandContext, flags: GenerateFlags) {
  const { clock, operator, interruption, withSession, output } = context;
  const { count, seed, as: actor = operator(), json } = flags;
  const progress = new Progress(output, 'generated');
  const options = {
    count,
    seed: seed ?? randomInt(GENERATION_SEED_MAX),
    now: clock(),
    origin: { actor },
    onProgress(generated: number) {
      progress.advance(generated, generated / count);
      if (generated === count) progress.awaits('recording them'); // as events
    },
    onCommit() {
      progress.awaits('committing');
      interruption.commits();
    },
  };
  interruption.leaves('Nothing was generated.');
  const inserted = await withSession(async ({ persistence }) => {
    const generated = await persistence.orders.generateOrders(options);
    interruption.leaves(generatedText(generated));
    return generated;
  }, MAY_MAKE_DATABASE);
  await (json ? output.writeJson({ inserted }) : output.write(`${generatedText(inserted)}\n`));
}

const generatedText = (count: number): string => `${count.toLocaleString('en')} generated.`;
