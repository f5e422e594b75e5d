import { advance, decide, newState, read, type State } from '../../src/algorithm.ts';
import type { RateLimitDecision, RateLimitSnapshot, RateLimitStatus, Subject } from '../../src/index.ts';
import { refusalsMaxOf } from '../../src/subject.ts';

// The algorithm as functions that leave the state they are given as it is.

interface Step {
  readonly state: State;
  readonly decision: RateLimitDecision;
}

function stateAt(state: State | undefined, nowMs: number): State {
  const copy = state === undefined ? newState() : structuredClone(state);
  advance(copy, nowMs);
  return copy;
}

export function checkState(before: State | undefined, subject: Subject, cost: number, nowMs: number): Step {
  const state = stateAt(before, nowMs);
  return { state, decision: decide(state, subject, { cost, refusalsMax: refusalsMaxOf(subject) }, nowMs) };
}

export const snapshotOf = (state: State | undefined, subject: Subject, nowMs: number): RateLimitSnapshot =>
  read(stateAt(state, nowMs), subject, nowMs);

export const usedOf = ({ minute, day }: RateLimitStatus) => ({ minute: minute.used, day: day?.used });
