import { comparable, isAsShown, Reader, stepsIn } from '@petstore/server/test-support/documentation';
import { sectionOf } from '../../../observability/support/committed-files.ts';
import { FAULTS, type FaultName } from '../faults/faults.ts';
import type { Phase, Timeline } from './extrapolate.ts';
import type { Observed, WatchedServer } from './watched-server.ts';

const HEALTHY_MINUTES = 60;
/** How long servers are healthy after the fault. Only the rules of hours and days look back further. */
const RECOVERED_MINUTES = 50;
const FAULTY_MINUTES = 30;

/** A span of time, in minutes from the beginning. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What Prometheus sees of servers that are healthy for an hour, then have a fault, and are healthy again. */
export interface Recording {
  readonly timelines: readonly Timeline[];
  readonly before: Span;
  readonly during: Span;
  readonly after: Span;
  /** The last quarter of an hour. */
  readonly atTheEnd: Span;
}

/** How a server is before and after the fault, and during it. */
export interface ObservedServer {
  readonly healthy: Observed;
  /** Several observations follow one another, each for an equal part of the time. */
  readonly faulty: Observed | readonly Observed[] | 'down';
  /** Gauges that go on changing as fast as they did while they were observed. */
  readonly growing?: readonly string[];
}

/** The observations of each fault, and what the commands of its section printed meanwhile. */
export class FaultRecordings {
  #health: readonly Timeline[] = [];
  readonly #recordings = new Map<FaultName, Recording>();
  readonly #followed = new Map<string, readonly FollowedStep[]>();

  add(fault: FaultName, ...servers: readonly ObservedServer[]): void {
    const { minutes = FAULTY_MINUTES } = FAULTS[fault];
    const begin = HEALTHY_MINUTES;
    const end = begin + minutes;
    this.#recordings.set(fault, {
      timelines: servers.map(({ healthy, faulty, growing = [] }, i) => {
        const before: Phase = { minutes: HEALTHY_MINUTES, observed: healthy };
        const after: Phase = { minutes: RECOVERED_MINUTES, observed: healthy };
        return { instance: `server-${i + 1}:3001`, phases: [before, ...phasesOf(faulty, minutes, growing), after] };
      }),
      before: { from: 0, to: begin },
      during: { from: begin, to: end },
      after: { from: end, to: end + RECOVERED_MINUTES },
      atTheEnd: { from: end + RECOVERED_MINUTES - 15, to: end + RECOVERED_MINUTES },
    });
  }

  /** @param replaced the observations of a server, and of the one that took its place */
  addHealth(replaced: readonly [Observed, Observed], other: Observed): void {
    const [before, after] = replaced;
    this.#health = [
      {
        instance: 'server-1:3001',
        phases: [
          { minutes: 29, observed: before },
          { minutes: 1, isDown: true },
          { minutes: 30, observed: after },
        ],
      },
      { instance: 'server-2:3001', phases: [{ minutes: HEALTHY_MINUTES, observed: other }] },
    ];
  }

  get health(): { readonly timelines: readonly Timeline[]; readonly whole: Span } {
    return { timelines: this.#health, whole: { from: 0, to: HEALTHY_MINUTES } };
  }

  /** Runs the commands of a section of the runbook as an operator on call would. */
  async follow(alert: string, surroundings: Surroundings): Promise<void> {
    this.#followed.set(alert, await followRunbook(alert, surroundings));
  }

  of(fault: FaultName): Recording {
    const recording = this.#recordings.get(fault);
    if (recording === undefined) throw new Error(`nothing was recorded of "${fault}"`);
    return recording;
  }

  /** The commands of a section that was followed, in order. */
  stepsOf(alert: string): readonly FollowedStep[] {
    const steps = this.#followed.get(alert);
    if (steps === undefined) throw new Error(`the section on ${alert} was not followed`);
    return steps;
  }
}

function phasesOf(faulty: ObservedServer['faulty'], minutes: number, growing: readonly string[]): readonly Phase[] {
  if (faulty === 'down') return [{ minutes, isDown: true }];
  const parts = 'from' in faulty ? [faulty] : faulty;
  return parts.map((observed) => ({ minutes: minutes / parts.length, observed, growing }));
}

/** The address of the admin listener in the runbook. */
const DOCUMENTED_ADMIN_HOST = '127.0.0.1:3001';

interface Surroundings {
  readonly watched: Pick<WatchedServer, 'url' | 'adminUrl'>;
  /** DATABASE_URL, REDIS_URL and the like. */
  readonly environment: Readonly<Record<string, string>>;
  /** What stands here for each id in the runbook. */
  readonly names?: Readonly<Record<string, string>>;
}

/** A command of the runbook, what it shows, and what it printed. */
interface FollowedStep {
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
async function followRunbook(alert: string, surroundings: Surroundings): Promise<readonly FollowedStep[]> {
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
