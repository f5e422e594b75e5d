/** How records are written, a batch at a time. */
export interface RecordFormat<Value> {
  readonly head: string;
  readonly batch: (values: readonly Value[], isFirst: boolean) => string;
  readonly tail: (isEmpty: boolean) => string;
}

export const lines = <Value>(head: string, toText: (value: Value) => string): RecordFormat<Value> => ({
  head,
  batch: (values) => values.map((value) => `${toText(value)}\n`).join(''),
  tail: () => '',
});

/** One JSON value, a record a line. */
export const jsonArray = <Value>(toJson: (value: Value) => string): RecordFormat<Value> => ({
  head: '[',
  batch: (values, isFirst) => `${isFirst ? '' : ','}\n${values.map(toJson).join(',\n')}`,
  tail: (isEmpty) => (isEmpty ? ']\n' : '\n]\n'),
});

export interface RecordOutput {
  readonly write: (text: string) => Promise<void>;
  readonly onProgress?: (count: number) => void;
}

/**
 * Writes records batch by batch, so that any number of them takes the same memory.
 *
 * @returns how many there were
 */
export async function writeRecords<Value>(
  batches: AsyncIterable<readonly Value[]>,
  format: RecordFormat<Value>,
  { write, onProgress }: RecordOutput,
): Promise<number> {
  let count = 0;
  let text = format.head;
  for await (const batch of batches) {
    if (batch.length > 0) text += format.batch(batch, count === 0);
    count += batch.length;
    if (text !== '') await write(text);
    text = '';
    onProgress?.(count);
  }
  text += format.tail(count === 0);
  if (text !== '') await write(text);
  return count;
}
