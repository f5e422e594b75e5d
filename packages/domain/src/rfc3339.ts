const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/**
 * Parses a date-time in the format of RFC 3339. Fractions of a millisecond are dropped.
 *
 * @returns `undefined` if the text is no date-time, or its day or hour does not exist (2026-02-30, 24:00:00)
 */
export function parseRfc3339(text: string): Date | undefined {
  return readOwnForm(text) ?? readAnyForm(text);
}

const OWN_FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Parses the form that we write ourselves in a fifth of the time. Most texts have this form. */
function readOwnForm(text: string): Date | undefined {
  if (!OWN_FORM.test(text)) return undefined;
  const date = new Date(text);
  // A Date takes 30 February for 2 March, and 24:00 for the next day.
  return date.getUTCDate() === Number(text.slice(8, 10)) ? date : undefined;
}

function readAnyForm(text: string): Date | undefined {
  const match = RFC_3339.exec(text);
  if (match === null) return undefined;
  const [, day, time, decimals = '', sign, hours = '00', minutes = '00'] = match;
  const local = `${day}T${time}.${decimals.padEnd(3, '0').slice(0, 3)}Z`;
  const date = new Date(local);
  // A Date takes 30 February for 2 March.
  if (Number.isNaN(date.getTime()) || date.toISOString() !== local) return undefined;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return new Date(date.getTime() - (sign === '-' ? -offsetMs : offsetMs));
}
