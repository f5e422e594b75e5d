interface Family {
  /** The process whose comments are taken. */
  readonly describedBy: string;
  /** HELP and TYPE. */
  readonly comments: string[];
  readonly samples: string[];
}

/**
 * Makes one text of those of several processes, in Prometheus' text format: every sample gets a label `process`, and each
 * metric its HELP and TYPE once, with the samples of all processes below. Nothing is added up, because Prometheus can do
 * that (`sum without (process)`), and could not undo it.
 *
 * @param texts by the number of the process; in each of them the samples of a metric follow its HELP and TYPE
 */
export function mergeMetrics(texts: Iterable<readonly [processNumber: number, text: string]>): string {
  const families = new Map<string, Family>();
  for (const [number, text] of texts) addText(families, text, `process="${number}"`);
  const lines = [...families.values()].flatMap(({ comments, samples }) => [...comments, ...samples]);
  return lines.map((line) => `${line}\n`).join('');
}

function addText(families: Map<string, Family>, text: string, label: string): void {
  let family: Family | undefined;
  for (const line of text.split('\n')) {
    const name = /^# (?:HELP|TYPE) (\S+)/.exec(line)?.[1];
    if (name !== undefined) {
      family = families.get(name) ?? { describedBy: label, comments: [], samples: [] };
      families.set(name, family);
      if (family.describedBy === label) family.comments.push(line);
    } else if (line !== '') {
      family?.samples.push(withLabel(line, label));
    }
  }
}

/** A sample is `name value`, or `name{labels} value`. */
function withLabel(sample: string, label: string): string {
  const end = sample.search(/[{ ]/);
  const name = sample.slice(0, end);
  return sample[end] === '{' ? `${name}{${label},${sample.slice(end + 1)}` : `${name}{${label}}${sample.slice(end)}`;
}
