/** The package ships no types. */
declare module 'cluster-key-slot' {
  /** The slot of a key in a Redis Cluster, 0 to 16383. */
  export default function calculateSlot(key: string): number;
}
