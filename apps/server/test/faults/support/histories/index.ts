export { drawHistory, type OperationText } from './draw-history.ts';
export { type Contradiction, findContradiction } from './find-contradiction.ts';
export type { History, Operation, SequentialModel } from './history.ts';
