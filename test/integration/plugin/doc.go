// Package plugin_test runs the plugin of kubectl against a real API server with both controllers.
package plugin_test
