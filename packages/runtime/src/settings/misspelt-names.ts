import { distance } from 'fastest-levenshtein';

/** Letters by which a name may differ and still be meant: of long names two, of short ones none, or HOME would be HOST. */
const lettersOff = (name: string): number => (name.length < 6 ? 0 : name.length < 8 ? 1 : 2);

/** What orchestrators set for a service that is called like a part of a setting's name: `REDIS_PORT_6379_TCP_ADDR`. */
const OF_A_SERVICE = /_(?:PORT|SERVICE_HOST|SERVICE_PORT)(?:_|$)/;

/** OpenTelemetry's for logs, which platforms set beside those for spans: `OTEL_BLRP_SCHEDULE_DELAY`, `OTEL_BSP_...`. */
const OF_OTHERS = /^OTEL_BLRP_/;

/**
 * Finds variables that are set, and whose names differ from one of ours by a letter or two: they have no effect, and the
 * variable that was meant has its default.
 *
 * @param names those that there are
 * @returns a sentence for each
 */
export function findMisspeltNames(
  environment: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): readonly string[] {
  const known = new Set(names);
  return Object.keys(environment)
    .filter((name) => environment[name] !== undefined && !known.has(name))
    .filter((name) => !(OF_A_SERVICE.test(name) || OF_OTHERS.test(name)))
    .flatMap((name) => {
      const meant = names.find((right) => distance(name, right) <= lettersOff(right));
      return meant === undefined
        ? []
        : [`${name} is set, and there is no such setting; it must be ${meant}, or be unset`];
    });
}
