import type { Settings } from '../settings.ts';

/**
 * The content of `/.well-known/security.txt` (RFC 9116), which expires a year after the present day; `undefined` if no
 * contact is set. It contains its own address only if that is known to use https, as the RFC requires.
 */
export function renderSecurityText(
  { securityContact, publicBaseUrl }: Pick<Settings, 'securityContact' | 'publicBaseUrl'>,
  now: Date,
): string | undefined {
  if (securityContact === undefined) return undefined;
  const expires = new Date(now);
  expires.setUTCFullYear(expires.getUTCFullYear() + 1);
  expires.setUTCHours(0, 0, 0, 0); // the same text all day
  const origin = publicBaseUrl === undefined ? '' : new URL(publicBaseUrl).origin;
  const lines = [`Contact: ${securityContact}`, `Expires: ${expires.toISOString()}`, 'Preferred-Languages: en'];
  if (origin.startsWith('https:')) lines.push(`Canonical: ${origin}/.well-known/security.txt`);
  return `${lines.join('\n')}\n`;
}
