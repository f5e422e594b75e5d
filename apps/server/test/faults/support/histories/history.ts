/** One call of a client, as the client saw it. */
export interface Operation<Call, Outcome> {
  readonly call: Call;
  readonly calledAtMs: number;
  /** `undefined` where it was lost: the call may take effect at any moment after it was made, or never. */
  readonly response: Response<Outcome> | undefined;
}

interface Response<Outcome> {
  /** By the clock of {@link Operation.calledAtMs}, which all clients of a history share. */
  readonly atMs: number;
  readonly outcome: Outcome;
}

/**
 * What calls do where one is made after the other.
 *
 * @typeParam State a primitive, so that equal states are the same
 */
export interface SequentialModel<State extends string | number, Call, Outcome> {
  /**
   * @param outcome `undefined` where it is not known: any is possible
   * @returns the state after the call; `undefined` where the call cannot have had this outcome
   */
  step(state: State, call: Call, outcome: Outcome | undefined): State | undefined;
  /** Whether a call with this outcome (`undefined`: with any) has changed nothing, whatever the state was. */
  isRead(call: Call, outcome: Outcome | undefined): boolean;
}

/** A history to explain. */
export interface History<State extends string | number, Call, Outcome> {
  readonly model: SequentialModel<State, Call, Outcome>;
  readonly initial: State;
  readonly operations: readonly Operation<Call, Outcome>[];
}
