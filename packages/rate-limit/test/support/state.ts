import { advance, decide, newState, type State } from '../../src/algorithm.ts';
import { decisionOf, resultOf, snapshotOf as toSnapshot } from '../../src/decision.ts';
import type { RateLimitDecision, RateLimitSnapshot, Subject } from '../../src/index.ts';

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
  const verdict = decide(state, subject, cost, nowMs);
  return { state, decision: decisionOf(resultOf(state, subject, nowMs, verdict), subject) };
}

export const snapshotOf = (state: State | undefined, subject: Subject, nowMs: number): RateLimitSnapshot =>
  toSnapshot(resultOf(stateAt(state, nowMs), subject, nowMs), subject);
