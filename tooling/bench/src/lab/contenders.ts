import { fileURLToPath } from 'node:url';

/** What is measured, and what it is held against. */
export const CONTENDERS = ['service', 'baseline'] as const;
export type Contender = (typeof CONTENDERS)[number];

/** The programs. Both take PORT, DATABASE_URL and REDIS_URL, and tell where they listen once they serve. */
export const PROGRAMS = {
  service: fileURLToPath(new URL('../../../../apps/server/src/main.js', import.meta.url)),
  baseline: fileURLToPath(new URL('../baseline/main.ts', import.meta.url)),
} satisfies Record<Contender, string>;

export const LISTENING_LINE = /listening on (http:\/\/[\w.:[\]-]+)/;
