import type { ApiKeyId } from '@petstore/domain';
import { type Channels, channelsOf, connectRedis } from '@petstore/rate-limit';
import type { RedisTarget } from '@petstore/runtime';
import type { Settings } from '../settings.ts';

export interface AnnouncementHandlers {
  /** Called when any process has changed a key. */
  readonly onKeyChanged: (id: ApiKeyId) => void;
  /** Called when any process has recorded events. */
  readonly onEvents: () => void;
}

/** The minimum time between two announcements of events, in milliseconds. */
const INTERVAL_MS = 20;

/**
 * Notifications between processes through Redis. Nothing depends on them: changes missed while Redis is unavailable are
 * still found within seconds.
 *
 * @param settings without `redis` only this process is notified; `redisPrefix` begins the names of the channels
 * @returns a function that announces new events a little later: no response waits for it
 */
export function openAnnouncements(
  { redis, redisPrefix }: Pick<Settings, 'redis' | 'redisPrefix'>,
  handlers: AnnouncementHandlers,
  resources: AsyncDisposableStack,
): () => void {
  const publish = redis && openChannels(redis, channelsOf(redisPrefix), handlers, resources);
  let announcing: NodeJS.Timeout | undefined;
  resources.defer(() => clearTimeout(announcing));
  return () => {
    announcing ??= setTimeout(() => {
      announcing = undefined;
      handlers.onEvents();
      publish?.();
    }, INTERVAL_MS);
  };
}

/** @returns a function that tells other processes that events were recorded */
function openChannels(
  target: RedisTarget,
  channels: Channels,
  { onKeyChanged, onEvents }: AnnouncementHandlers,
  resources: AsyncDisposableStack,
): () => void {
  // A connection that has subscribed can send no other commands.
  const [subscriber, publisher] = [connectRedis(target), connectRedis(target)];
  resources.defer(() => {
    subscriber.disconnect();
    publisher.disconnect();
  });
  subscriber.on('ready', () => {
    // Subscribes separately: a user of Redis may be allowed only one of them. A lost connection subscribes again by itself.
    for (const channel of Object.values(channels)) subscriber.subscribe(channel).catch(() => {});
  });
  subscriber.on('message', (channel: string, text: string) => {
    if (channel === channels.apiKeyChanged)
      onKeyChanged(text as ApiKeyId); // what the channel carries
    else onEvents();
  });
  return () => {
    publisher.publish(channels.orderEvents, '').catch(() => {}); // other processes look by the clock
  };
}
