import type { Site } from '../site/site.ts';
import { relativeLink } from '../site/site-paths.ts';
import type { Guide } from './load-guides.ts';
import type { LinkTargets } from './render-markdown.ts';

/** Resolves the links of a guide to the pages of other guides and of error codes. */
export function linkTargets({ path, source }: Guide, { guides: { guides, errors } }: Site): LinkTargets {
  const pathOfSource = new Map([...guides, ...errors].map((page) => [page.source, page.path]));
  const pathOfCode = new Map<string, string>(errors.map((page) => [page.code, page.path]));
  const linkTo = (target: string | undefined) => (target === undefined ? undefined : relativeLink(path, target));
  return {
    source,
    linkToSource: (target) => linkTo(pathOfSource.get(target)),
    linkToErrorCode: (text) => (pathOfCode.get(text) === path ? undefined : linkTo(pathOfCode.get(text))),
  };
}
