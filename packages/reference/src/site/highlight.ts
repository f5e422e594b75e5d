import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import http from 'highlight.js/lib/languages/http';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import { escapeHtml } from '../html.ts';

for (const [name, language] of Object.entries({ bash, http, json, python, typescript })) {
  hljs.registerLanguage(name, language);
}
const ALIASES: Readonly<Record<string, string>> = {
  sh: 'bash',
  shell: 'bash',
  ts: 'typescript',
  js: 'typescript',
};

/** Code as HTML, coloured where its language is known. */
export function highlight(code: string, name: string): string {
  const language = ALIASES[name] ?? name;
  return hljs.getLanguage(language) === undefined ? escapeHtml(code) : hljs.highlight(code, { language }).value;
}

/** Commands, outputs, headers and JSON, of which every part is wanted, wrap; the lines of programs scroll. */
const WRAPPING = new Set(['bash', 'console', 'http', 'json', '']);

/** The attributes of a block of code. One that may have to be scrolled can have the focus. */
export const codeAttributes = (language: string): string =>
  WRAPPING.has(ALIASES[language] ?? language) ? ' class="wraps"' : ' tabindex="0"';

/** With room for the button that copies it. */
export const codeBlock = (code: string, language: string, attributes = codeAttributes(language)): string =>
  `<div class="code"><pre${attributes}><code>${highlight(code, language)}</code></pre></div>`;
