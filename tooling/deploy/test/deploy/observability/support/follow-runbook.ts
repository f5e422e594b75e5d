import { comparable, isAsShown, Reader, stepsIn } from '@petstore/server/test-support/documentation';
import { sectionOf } from '../../../observability/support/runbook.ts';
import type { WatchedServer } from './watched-server.ts';

/** The address of the admin listener in the runbook. */
const DOCUMENTED_ADMIN_HOST = '127.0.0.1:3001';

export interface Surroundings {
  readonly watched: Pick<WatchedServer, 'url' | 'adminUrl'>;
  /** DATABASE_URL, REDIS_URL and the like. */
  readonly environment: Readonly<Record<string, string>>;
  /** What stands here for each id in the runbook. */
  readonly names?: Readonly<Record<string, string>>;
}

/** A command of the runbook, what it shows, and what it printed. */
export interface FollowedStep {
  readonly command: string;
  readonly shown: string;
  readonly printed: string;
}

/** Leaves out what differs from run to run: numbers and alignment. 0 and 1 stay, because they are states most often. */
const leavingOut = (text: string): string =>
  comparable(text)
    .replaceAll(/\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00)?/g, '(time)')
    .replaceAll(/^[\dA-Za-z]{8}(?= +\(time\))/gm, '(id)')
    .replaceAll(/\b\d+\.\d+(?:e-\d+)?\b|\b(?:[2-9]|\d{2,})\b/g, '#')
    .replaceAll(/-{2,}/g, '--')
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ $/gm, '');

/** Runs the commands of a section of the runbook as an operator on call would. @returns a step for each, in order */
export async function followRunbook(alert: string, surroundings: Surroundings): Promise<readonly FollowedStep[]> {
  const { watched, environment, names } = surroundings;
  await using reader = new Reader({
    url: watched.url,
    dataFolder: '/nonexistent',
    demoKey: '',
    environment,
    names: { [DOCUMENTED_ADMIN_HOST]: new URL(watched.adminUrl).host, ...names },
  });
  const followed: FollowedStep[] = [];
  for (const step of stepsIn(sectionOf(alert))) {
    if (step.kind !== 'command') throw new Error(`the runbook asks for the file ${step.file}`);
    const { printed } = await reader.run(step.command);
    const [actual, shown] = [leavingOut(printed), leavingOut(step.shown)];
    followed.push({ command: step.command, shown, printed: isAsShown(actual, shown) ? shown : printed });
  }
  return followed;
}
