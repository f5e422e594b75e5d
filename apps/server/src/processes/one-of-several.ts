import type { Settings } from '@petstore/runtime';
import { startServer } from '../compose.ts';
import type { ExitCode } from '../failure.ts';
import type { OpenOperations, OperationsSources } from '../operations/operations.ts';
import { type End, runUntilEnded, watchForEnd } from '../run-until-ended.ts';
import type { Instruction, Notice } from './messages.ts';

/**
 * Serves on the port that all processes of a server share, until the supervisor says stop. When the supervisor is no
 * more, so is this process: node:cluster ends it.
 *
 * @param processNumber 1 or more
 */
export async function serveAsOneOfSeveral(settings: Settings, processNumber: number): Promise<ExitCode> {
  // A terminal signals all processes of a group. What comes of that is for the supervisor to decide.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  const end = watchForEnd();
  // While Redis is away each process counts for itself.
  const share = { ...settings, instances: settings.instances * settings.processes };
  const operations = operationsBySupervisor(end);
  return runUntilEnded(
    end.promise,
    () => startServer(share, { onFatal: end.resolve, operations, processNumber }),
    // The supervisor tells it, so that what befalls all processes is told once.
    (failure) => notify({ type: 'failed', failure }),
  );
}

/** Answers those who run the server through the supervisor. */
function operationsBySupervisor(end: End): OpenOperations {
  return async (sources) => {
    process.on('message', (instruction: Instruction) => {
      switch (instruction.type) {
        case 'answer':
          answer(sources, instruction).catch((err: unknown) =>
            sources.logger.error({ err }, 'a question went unanswered'),
          );
          return;
        case 'stop':
          end.resolve(undefined);
          return;
        default:
          instruction satisfies never;
      }
    });
    await notify({ type: 'opened' });
    return (facts) => void notify({ type: 'serving', facts });
  };
}

async function answer(
  sources: OperationsSources,
  instruction: Instruction & { readonly type: 'answer' },
): Promise<void> {
  await notify({ type: 'answered', id: instruction.id, answer: await sources[instruction.question]() });
}

/** Done when it was sent. Where there is no supervisor any more, this process is about to end. */
function notify(notice: Notice): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve();
    else process.send(notice, undefined, undefined, () => resolve());
  });
}
