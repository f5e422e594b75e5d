import type { ZodError } from 'zod';

const SHOWN_ISSUES = 5;

/**
 * Says what is wrong with an input, and what would be right. It names only fields of the schema: zod's messages for
 * unknown fields repeat what the caller sent, which might be a key. An element of a list is named by the field alone,
 * because elements have no number in a query.
 */
export function describeIssues(issues: ZodError['issues']): string {
  const complaints = new Set(
    issues.map(({ path, message }) => {
      const field = path.filter((step) => typeof step === 'string').join('.') || 'The input';
      return `${field}: ${message.startsWith('Unrecognized key') ? 'contains an unknown field' : message}`;
    }),
  );
  const shown = [...complaints].slice(0, SHOWN_ISSUES);
  if (complaints.size > SHOWN_ISSUES) shown.push(`and ${complaints.size - SHOWN_ISSUES} more`);
  return `${shown.join('; ')}.`;
}
