import { CheckFailedError, InconclusiveError, NoAnswerError } from './ask.ts';
import { CHECKS } from './checks.ts';

/** What became of one promise. */
export interface Finding {
  /** The promise. */
  readonly check: string;
  /** `null` if it could not be seen whether it is kept. */
  readonly ok: boolean | null;
  readonly seen: string;
}

/**
 * Looks at each promise of an installation, in turn. If something else than the service answers, it ends after the first
 * requests.
 *
 * @param url without `/v1` and without a slash at its end
 * @param key without one, promises that need a key are not seen
 * @param hint added where there is no answer
 */
export async function* checkInstallation(url: string, key: string | undefined, hint: string): AsyncGenerator<Finding> {
  let isService = false;
  let isAccepted = false;
  for (const { check, needsKey, proves, run } of CHECKS) {
    if (!isService && proves !== 'service') {
      yield { check: 'all other promises', ok: null, seen: 'what answers is not the service' };
      return;
    }
    if (needsKey && (key === undefined || !(isAccepted || proves === 'key'))) {
      yield { check, ok: null, seen: 'it needs a key that is accepted' };
      continue;
    }
    try {
      yield { check, ok: true, seen: await run(url, key) };
      isService ||= proves === 'service';
      isAccepted ||= proves === 'key';
    } catch (error) {
      if (!(error instanceof CheckFailedError || error instanceof InconclusiveError)) throw error;
      const seen = error instanceof NoAnswerError ? `${error.message}${hint}` : error.message;
      yield { check, ok: error instanceof CheckFailedError ? false : null, seen };
    }
  }
}
