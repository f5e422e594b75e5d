import { CONTENDERS, type Contender } from '../lab/contenders.ts';
import type { Lab } from '../lab/lab.ts';
import { type Result, SampleCollector } from '../report/result.ts';

/** Measures service and baseline in turn, round after round, so that what else the machine does meets both alike. */
export async function measureInTurn(
  lab: Lab,
  rounds: number,
  measure: (contender: Contender) => Promise<Readonly<Record<string, number | undefined>>>,
): Promise<Pick<Result, 'base' | 'subject'>> {
  const collectors = { service: new SampleCollector(), baseline: new SampleCollector() };
  for (let round = 1; round <= rounds; round++) {
    for (const contender of CONTENDERS) {
      lab.progress.step(`round ${round} of ${rounds}, ${contender}`);
      collectors[contender].add(await measure(contender));
    }
  }
  return {
    subject: { name: 'service', samples: collectors.service.samples },
    base: { name: 'baseline', samples: collectors.baseline.samples },
  };
}
