import { ClientCalls } from './client-calls.ts';
import { comparePromises } from './comparisons.ts';
import { examine, type Finding, type Promised } from './findings.ts';
import type { Installation } from './installation.ts';
import { IDENTIFYING, promiseOf, WITH_KEY, WITHOUT_KEY, WRONG_KEY } from './requests.ts';

/**
 * Looks at each promise of an installation, in turn. Nothing that it sends changes anything. If something else than the
 * service answers, it ends after the first requests.
 *
 * @param key without one, promises that need a key are not seen
 */
export async function* checkInstallation(at: Installation, key: string | undefined): AsyncGenerator<Finding, void> {
  let isService = false;
  for (const expectation of IDENTIFYING) {
    const finding = await examine(promiseOf(at, expectation));
    isService ||= finding.ok === true;
    yield finding;
  }
  if (!isService) {
    yield { check: 'all other promises', ok: null, seen: 'what answers is not the service' };
    return;
  }
  const withoutKey = [...WITHOUT_KEY.map((expectation) => promiseOf(at, expectation)), ...comparePromises(at)];
  for (const promise of withoutKey) yield await examine(promise);
  const { accepted, others } = new ClientCalls(at, key ?? WRONG_KEY);
  const skip = ({ check }: Promised): Finding => ({ check, ok: null, seen: 'it needs a key that is accepted' });
  const finding = key === undefined ? skip(accepted) : await examine(accepted);
  yield finding;
  const withKey = [...WITH_KEY.map((expectation) => promiseOf(at, expectation, key)), ...others];
  for (const promise of withKey) yield finding.ok === true ? await examine(promise) : skip(promise);
}
