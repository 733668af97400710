CREATE TABLE "pawl"."bulk_runs" (
	"bulk_id" uuid NOT NULL,
	"run_id" uuid NOT NULL,
	"outcome" text,
	"detail" text,
	"at" timestamp (3) with time zone,
	CONSTRAINT "bulk_runs_bulk_id_run_id_pk" PRIMARY KEY("bulk_id","run_id")
);
--> statement-breakpoint
CREATE TABLE "pawl"."bulks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"namespace" text NOT NULL,
	"key" text,
	"digest" text NOT NULL,
	"verb" text NOT NULL,
	"created_by" text NOT NULL,
	"reason" text,
	"total" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "bulk_runs_open" ON "pawl"."bulk_runs" USING btree ("bulk_id","run_id") WHERE outcome is null;--> statement-breakpoint
CREATE UNIQUE INDEX "bulks_by_key" ON "pawl"."bulks" USING btree ("namespace","key");--> statement-breakpoint
CREATE INDEX "items_blocked" ON "pawl"."items" USING btree ("run_id","seq") WHERE status = 'blocked';--> statement-breakpoint
CREATE INDEX "runs_by_status" ON "pawl"."runs" USING btree ("namespace","status","created_at");--> statement-breakpoint
CREATE INDEX "runs_by_label" ON "pawl"."runs" USING gin ("labels");--> statement-breakpoint
CREATE INDEX "runs_by_label_value" ON "pawl"."runs" USING gin (jsonb_path_query_array(labels, '$.*'));