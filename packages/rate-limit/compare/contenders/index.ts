import type { Contender } from '../contender.ts';
import { express } from './express.ts';
import { fastify } from './fastify.ts';
import { gcra } from './gcra.ts';
import { petstore } from './petstore.ts';
import { rateLimiterFlexible } from './rate-limiter-flexible.ts';
import { upstash } from './upstash.ts';

export const CONTENDERS: readonly Contender[] = [petstore, rateLimiterFlexible, express, fastify, ...upstash, gcra];
