import { ERROR_CATALOGUE } from '@petstore/api';
import { renderMarkdown } from '../guides/render-markdown.ts';
import { ERRORS_PATH, relativeLink } from '../site/site-paths.ts';

/** A description of the document as HTML; error codes link to their pages. @param path of the page */
export const renderProse = (markdown: string, path: string): string =>
  renderMarkdown(markdown, {
    source: '',
    linkToSource: () => undefined,
    linkToErrorCode: (text) => (text in ERROR_CATALOGUE ? relativeLink(path, `${ERRORS_PATH}/${text}`) : undefined),
  }).html.trim();
