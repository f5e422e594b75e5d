export * from './headers.ts';
export * from './rate-limiter.ts';
export * from './subject.ts';
