// A server loads this file before anything else. It fills the heap up to a share of its limit, and keeps it filled.
import { getHeapStatistics } from 'node:v8';

const SHARE = 0.86;
const PIECE = 10_000;

const held: number[][] = [];
const timer = setInterval(() => {
  const { heap_size_limit: limit } = getHeapStatistics();
  while (getHeapStatistics().used_heap_size < SHARE * limit) held.push(new Array(PIECE).fill(held.length + 0.5));
}, 100);
timer.unref();
