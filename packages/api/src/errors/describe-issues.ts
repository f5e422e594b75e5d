import type { ZodError } from 'zod';

const SHOWN_ISSUES = 5;

/**
 * Says what is wrong with an input, and what would be right. Names fields of ours only: zod's own words for unknown
 * fields repeat what the caller sent, which might be a key.
 */
export function describeIssues(issues: ZodError['issues']): string {
  const shown = issues.slice(0, SHOWN_ISSUES).map(({ path, message }) => {
    const field = path.length === 0 ? 'The input' : path.join('.');
    return `${field}: ${message.startsWith('Unrecognized key') ? 'holds a field that is not known' : message}`;
  });
  if (issues.length > SHOWN_ISSUES) shown.push(`and ${issues.length - SHOWN_ISSUES} more`);
  return `${shown.join('; ')}.`;
}
