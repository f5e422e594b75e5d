import type { ZodError } from 'zod';

const SHOWN_ISSUES = 5;

/**
 * Says what is wrong with an input, and what would be right. Names fields of ours only: zod's own words for unknown
 * fields repeat what the caller sent, which might be a key. A value of several goes by the field's name alone: in a query
 * it has no number that its sender would know.
 */
export function describeIssues(issues: ZodError['issues']): string {
  const complaints = new Set(
    issues.map(({ path, message }) => {
      const field = path.filter((step) => typeof step === 'string').join('.') || 'The input';
      return `${field}: ${message.startsWith('Unrecognized key') ? 'holds a field that is not known' : message}`;
    }),
  );
  const shown = [...complaints].slice(0, SHOWN_ISSUES);
  if (complaints.size > SHOWN_ISSUES) shown.push(`and ${complaints.size - SHOWN_ISSUES} more`);
  return `${shown.join('; ')}.`;
}
