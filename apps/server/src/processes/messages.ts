import type { Failure } from '../failure.ts';
import type { ReadinessReport } from '../operations/health.ts';
import type { ServingFacts } from '../operations/operations.ts';

/** What a supervisor asks a process that serves, and what that answers. */
export interface Answers {
  readonly readiness: ReadinessReport;
  /** In Prometheus' text format. */
  readonly metrics: string;
}

/** From the supervisor to a process that serves. */
export type Instruction =
  | { readonly type: 'answer'; readonly id: number; readonly question: keyof Answers }
  /** To end in order, as on a signal. */
  | { readonly type: 'stop' };

/** From a process that serves to its supervisor. */
export type Notice =
  /** Instructions are heard from now on. */
  | { readonly type: 'opened' }
  | { readonly type: 'answered'; readonly id: number; readonly answer: Answers[keyof Answers] }
  /** Requests are answered. */
  | { readonly type: 'serving'; readonly facts: ServingFacts }
  /** It will end because of this. */
  | { readonly type: 'failed'; readonly failure: Failure };
